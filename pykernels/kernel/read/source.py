"""Load a kernel file: execute it as its own module, describe its functions, fingerprint its content."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.base.errors import KernelError
from pykernels.base.python_files import SOURCE, execute
from pykernels.kernel.read.fingerprint import survey
from pykernels.kernel.read.plain import check_plain

#: The keyword-only parameter that says whether this is a training pass; it is not an attribute.
IS_TRAIN = "is_train"
#: What to do where a kernel writes to an input.
CURE_OF_WRITES = "Inputs belong to the framework; write to a copy or to an output"
# The deepest syntax tree of a function. Deeper ones would exceed Python's recursion limit.
_DEEPEST = 150


@dataclass(frozen=True)
class KernelFunction:
    """One function of a kernel file, such as ``forward``."""

    name: str
    #: The plain Python function, which NumPy runs.
    function: types.FunctionType
    path: Path
    line: int
    #: Whether it writes into ``outs`` instead of returning the outputs.
    takes_outs: bool
    #: Its keyword-only parameters: attributes, or ``is_train``.
    keywords: tuple[str, ...]
    #: Everything that its behaviour depends on: its file, the files of imported helpers, and the values at their top
    #: level.
    fingerprint: tuple[str | bytes, ...]
    #: The user's plain functions that it may call.
    helpers: tuple[Callable[..., Any], ...]
    #: Whether the file sets ``FAST_MATH = True``: results may differ from NumPy's in their last digits.
    fast_math: bool

    @property
    def place(self) -> str:
        """``file:line`` without the folder, for cached texts: the cache also serves copies of the file."""
        return f"{self.path.name}:{self.line}"

    @property
    def where(self) -> str:
        """``file:line``, for messages."""
        return f"{self.path}:{self.line}"


class KernelSource:
    """The functions of one kernel file.

    Raises
    ------
    LoadError
        The file is missing or does not execute, or a helper's file has been edited since it was imported.
    KernelError
        A function does not have the signature of a kernel, uses a framework, or is nested too deeply; or ``FAST_MATH``
        is not a bool.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        module = execute(path)
        _check_nesting(module, path)
        fast_math = vars(module).get("FAST_MATH", False)
        if not isinstance(fast_math, bool):
            raise KernelError(f"{path}: FAST_MATH is {fast_math!r}. Write FAST_MATH = True, or leave it out")
        fingerprint, helpers = survey(module)
        self.functions = {
            name: _describe(name, getattr(value, "py_func", value), path, fingerprint, helpers, fast_math)
            for name, value in vars(module).items()
            if not name.startswith("_") and _is_kernel(value, module)
        }
        for each in self.functions.values():
            check_plain(each.function, path)

    def __repr__(self) -> str:
        return f"KernelSource({str(self.path)!r}: {', '.join(self.functions) or 'no kernel'})"


def _check_nesting(module: types.ModuleType, path: Path) -> None:
    """Raise `KernelError` if a function's syntax is nested too deeply to compile in any form."""
    functions = [node for node in ast.parse(vars(module)[SOURCE]).body if isinstance(node, ast.FunctionDef)]
    waiting: list[tuple[ast.AST, int, int, str]] = [(node, 0, node.lineno, node.name) for node in functions]
    while waiting:
        node, depth, line, name = waiting.pop()
        line = getattr(node, "lineno", line)
        if depth > _DEEPEST:
            raise KernelError(
                f"{path}:{line}: {name} has an expression or a block that is nested more than {_DEEPEST} deep. Assign "
                f"parts of it to names; each further operand of a sum is a level, too"
            )
        waiting += [(child, depth + 1, line, name) for child in ast.iter_child_nodes(node)]


def _is_kernel(value: Any, module: types.ModuleType) -> bool:
    function = getattr(value, "py_func", value)
    if not isinstance(function, types.FunctionType) or function.__module__ != module.__name__:
        return False
    first = next(iter(inspect.signature(function).parameters), None)
    return first == "args" or function.__name__ in ("forward", "backward")


def _describe(
    name: str,
    function: types.FunctionType,
    path: Path,
    fingerprint: tuple[str | bytes, ...],
    helpers: tuple[Callable[..., Any], ...],
    fast_math: bool,
) -> KernelFunction:
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    line = function.__code__.co_firstlineno
    if positional not in (["args"], ["args", "outs"]) or len(positional) + len(keywords) != len(parameters):
        raise KernelError(
            f"{path}:{line}: {name}{inspect.signature(function)} is not the signature of a kernel. Write "
            f"{name}(args), {name}(args, outs), or either with attributes after a star: {name}(args, *, alpha)"
        )
    defaulted = [p.name for p in keywords if p.default is not p.empty]
    if defaulted:
        raise KernelError(
            f"{path}:{line}: {name}: parameter {defaulted[0]!r} has a default; defaults belong to the definition, "
            f"which always gives every attribute. Write it without one"
        )
    takes_outs = len(positional) == 2
    attributes = tuple(p.name for p in keywords)
    return KernelFunction(name, function, path, line, takes_outs, attributes, fingerprint, helpers, fast_math)
