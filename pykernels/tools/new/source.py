"""Read the function that a new op computes, from a file of NumPy code or from a template."""

from __future__ import annotations

import ast
import inspect
import math
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.adjoint.derivation import takes_tuple
from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError
from pykernels.base.python_files import execute
from pykernels.define.declared import REQUIRED, Attribute
from pykernels.tools.new.kernel import kernel_text

_TYPES = {bool: AttrType.BOOL, int: AttrType.INT64, float: AttrType.DOUBLE, str: AttrType.STRING, tuple: AttrType.SHAPE}
_TYPE = re.compile(r"(?P<dtype>floating|integer|number|any|bool|u?int\d+|b?float\d+)?(?P<axes>\[[^\[\]]*\])")


@dataclass(frozen=True)
class Source:
    """A function, and what its signature says about the op."""

    #: What to call it in messages: ``file:line: name``.
    where: str
    function: types.FunctionType
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    #: The types that are given for inputs, such as ``floating[rows, n]``; the others are found.
    types: Mapping[str, str]
    #: The text of a kernel file, with a function ``forward`` and maybe ``backward``.
    kernel: str
    #: The inputs, outputs and gradients that ``backward`` takes, if there is one, and the number of its results.
    backward: tuple[str, ...]
    gradients: int
    #: The docstring of the function, or "".
    text: str

    def call(self, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> Any:
        """Return what the function returns for arrays and values of attributes."""
        known = inspect.signature(self.function).parameters
        given = {name: value for name, value in attributes.items() if name in known}
        return self.function(tuple(arrays), **given) if takes_tuple(self.function) else self.function(*arrays, **given)


def read_source(path: Path, name: str, *, outputs: Sequence[str] = (), attributes: Sequence[Attribute] = ()) -> Source:
    """Read the function of a file that computes an op.

    This is the function with the name of the op, ``forward``, or the only one. It takes arrays and returns an array or
    a tuple: ``mish(x, beta=1.0)``, where parameters with a default, or after a star, are attributes; or it is a kernel,
    ``forward(args, *, beta)``. A function ``backward(args, *, ...)`` beside it is the gradient.

    Parameters
    ----------
    outputs : sequence of str, optional
        The names of the outputs; by default the names that the function returns, or ``y``.
    attributes : sequence of Attribute, optional
        Attributes whose types the function does not say.

    Raises
    ------
    CallError
        The function is not found, or the type of an attribute is missing; the message says what to write.
    LoadError
        The file cannot be executed.
    """
    module = execute(path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    definition = _find(path, name, functions)
    function = vars(module)[definition.name]
    where = f"{path}:{definition.lineno}: {definition.name}"
    if not isinstance(function, types.FunctionType) or definition.decorator_list:
        raise CallError(f"{where} is decorated; write the function itself")
    parameters = inspect.signature(function).parameters
    kinds = {each.kind for each in parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        raise CallError(f"{where} takes any number of arguments; name each of them")
    is_kernel = takes_tuple(function)
    inputs = _unpacked(definition, where) if is_kernel else tuple(n for n, p in parameters.items() if _is_array(p))
    if not inputs:
        raise CallError(
            f"{where} takes no array: a parameter without a default is an array, such as x in f(x, alpha=1.0)"
        )
    given = {each.name: each for each in attributes}
    chosen = [given.pop(n) if n in given else _attribute(p, where) for n, p in parameters.items() if not _is_array(p)]
    chosen += given.values()
    annotated = {n: _TYPE.fullmatch(str(parameters[n].annotation).strip("'\"")) for n in inputs if n in parameters}
    for name in annotated:
        if str(parameters[name].annotation).strip("'\"").startswith("complex"):
            raise CallError(
                f"{where}: {name} is complex, and ops are made of functions of real numbers alone; write this one by "
                f"hand (docs/writing_an_op.md)"
            )
    for found in filter(None, annotated.values()):
        _check_axes(found["axes"], where)
    gradient = functions.get("backward")
    return Source(
        where,
        function,
        inputs,
        tuple(outputs) or _returned(definition, inputs),
        tuple(chosen),
        {n: f"{found['dtype'] or 'floating'}{found['axes']}" for n, found in annotated.items() if found},
        kernel_text(path, definition.name, inputs, [each.name for each in chosen], is_kernel=is_kernel),
        _unpacked(gradient, f"{path}:{gradient.lineno}: backward") if gradient else (),
        len(_results(gradient)) if gradient else 0,
        inspect.getdoc(function) or "",
    )


def _check_axes(axes: str, where: str) -> None:
    for axis in axes.strip("[]").split(","):
        try:
            ast.parse(axis.strip() or "0", mode="eval")
        except SyntaxError:
            if not axis.strip().startswith("..."):
                raise CallError(
                    f"{where}: {axis.strip()!r} in {axes} is neither the name of an axis nor a formula of names"
                ) from None


def _find(path: Path, name: str, functions: Mapping[str, ast.FunctionDef]) -> ast.FunctionDef:
    public = [each for each in functions if not each.startswith("_") and each != "backward"]
    for wanted in (name, "forward", *(public if len(public) == 1 else ())):
        if wanted in functions:
            return functions[wanted]
    raise CallError(
        f"{path} has no function {name!r} or 'forward', and {'more than one' if public else 'no'} other: name the "
        "function that computes the op like the op"
    )


def _is_array(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY


def _unpacked(definition: ast.FunctionDef, where: str) -> tuple[str, ...]:
    """Return the names to which a kernel assigns its arguments."""
    for node in definition.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "args":
            target = node.targets[0]
            if isinstance(target, (ast.Tuple, ast.List)) and all(isinstance(each, ast.Name) for each in target.elts):
                return tuple(ast.unparse(each) for each in target.elts)
    raise CallError(
        f"{where} does not name its arguments; begin it with a line such as 'x, w = args', or '(x,) = args'"
    )


def _attribute(parameter: inspect.Parameter, where: str) -> Attribute:
    default, annotated = parameter.default, parameter.annotation
    name = parameter.name
    for python, type_ in _TYPES.items():
        if type(default) is python or (default is parameter.empty and annotated in (python, python.__name__)):
            if python is float and isinstance(default, float) and not math.isfinite(default):
                break
            if isinstance(default, int) and annotated in (float, "float"):
                return Attribute(name, AttrType.DOUBLE, float(default))
            return Attribute(name, type_, REQUIRED if default is parameter.empty else default)
    if default is parameter.empty:
        raise CallError(f"{where}: what type has the attribute {name}? Write {name}: float, or --attr {name}:float")
    raise CallError(
        f"{where}: {name}={default!r} cannot be the default of an attribute: write a finite number, a bool, a string "
        f"or a tuple of integers, or --attr {name}:TYPE=DEFAULT"
    )


def _returned(definition: ast.FunctionDef, inputs: Sequence[str]) -> tuple[str, ...]:
    """Return names for what a function returns."""
    names = [each.id if isinstance(each, ast.Name) else "" for each in _results(definition)]
    if len(names) > 1 and all(each and each not in inputs for each in names):
        return tuple(names)
    name = "y" if "y" not in inputs else "result"
    return (name,) if len(names) < 2 else tuple(f"{name}{at}" for at in range(len(names)))


def _results(definition: ast.FunctionDef) -> list[ast.expr]:
    """Return the expressions that a function returns."""
    returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value]
    last = returned[-1] if returned else None
    return [] if last is None else list(last.elts) if isinstance(last, ast.Tuple) else [last]
