"""A kernel file: executed under a name of its own, its functions described, its content fingerprinted."""

from __future__ import annotations

import ast
import contextlib
import ctypes
import functools
import hashlib
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.errors import KernelError, LoadError
from pykernels.kernel.fingerprint import survey
from pykernels.kernel.loaded_source import SOURCE
from pykernels.kernel.plain import check_plain, check_stays

__all__ = ["KernelFunction", "KernelSource", "compiled", "execute"]

#: A keyword-only parameter of this name is not an attribute: it tells whether this is a training pass.
IS_TRAIN = "is_train"
# Levels of a function's syntax. More of them take more calls of Python in one another than there may be.
_DEEPEST = 150

# How long a file of an op folder may take, in seconds.
_LONGEST = 120.0


@dataclass(frozen=True)
class KernelFunction:
    """One function of a kernel file, such as ``forward``.

    Attributes
    ----------
    function : function
        The plain Python function, which NumPy runs.
    takes_outs : bool
        It writes into ``outs`` instead of returning the outputs.
    keywords : tuple of str
        Its keyword-only parameters: attributes, or ``is_train``.
    fingerprint : tuple of (str or bytes)
        Everything that its behaviour depends on: its file, the files of the helpers that it imports, and the values
        at their top level.
    helpers : tuple of callable
        The user's plain functions that it may call.
    fast_math : bool
        Whether the file says ``FAST_MATH = True``: results may differ in their last digits from those of NumPy.
    """

    name: str
    function: types.FunctionType
    path: Path
    line: int
    takes_outs: bool
    keywords: tuple[str, ...]
    fingerprint: tuple[str | bytes, ...]
    helpers: tuple[Callable[..., Any], ...]
    fast_math: bool

    @property
    def where(self) -> str:
        """For messages: ``file:line``."""
        return f"{self.path}:{self.line}"


class KernelSource:
    """The functions of one kernel file.

    Raises
    ------
    LoadError
        The file is missing or does not execute, or a helper's has been edited since it was imported.
    KernelError
        A function does not have the signature of a kernel, uses a framework, or is nested too deeply; ``FAST_MATH``
        is no truth value.
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


def execute(path: Path) -> types.ModuleType:
    """Execute a Python file of an op folder as a module whose name no other file shares.

    Files beside it can be imported by their plain names, without staying importable for anybody else.

    Raises
    ------
    LoadError
        The file is missing, has a syntax error, raises, names ``os._exit``, or runs for more than two minutes.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror}") from error
    # numba and pickle look modules up by name, so two files must never share one.
    name = f"pykernels_op_{hashlib.sha256(str(path).encode() + b'|' + source).hexdigest()[:16]}.{path.stem}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    vars(module)[SOURCE] = source
    sys.modules[name] = module
    try:
        code = compiled(source, path)
        check_stays(code)
        with _importable(path.parent), _limited():
            exec(code, vars(module))
    except SyntaxError as error:
        raise LoadError(f"{error.filename}:{error.lineno}: syntax error: {error.msg}") from error
    except LoadError:
        raise
    except _Endless as error:
        raise LoadError(
            f"{_line_of(error, path)}: the file has run for more than {_LONGEST:.0f} s, and was stopped here"
        ) from None
    except (Exception, SystemExit) as error:  # an op that is loaded does not end a program
        raise LoadError(f"{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    return module


@functools.lru_cache(maxsize=1024)
def compiled(source: bytes, path: Path) -> types.CodeType:
    """The code of a Python file, which is compiled once to be checked and to be executed.

    Raises
    ------
    SyntaxError, ValueError
        It does not parse.
    """
    code: types.CodeType = compile(source, str(path), "exec", dont_inherit=True)
    return code


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let plain imports find the files of `folder`, afresh, and forget them afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = dont_write
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name not in before and "pykernels_op_" not in name]:
            file = getattr(sys.modules[name], "__file__", None)
            if file and Path(file).parent == folder:
                del sys.modules[name]


class _Endless(BaseException):
    """Ends what runs for too long."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    thread, lock, is_over = threading.get_ident(), threading.Lock(), False

    def stop() -> None:
        with lock:
            if not is_over:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Endless))

    timer = threading.Timer(_LONGEST, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            is_over = True
        timer.cancel()


def _check_nesting(module: types.ModuleType, path: Path) -> None:
    """Raise `KernelError` if a function's syntax is nested more deeply than any form is compiled."""
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


def _line_of(error: BaseException, path: Path) -> str:
    import traceback  # not above: few files raise

    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)


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
