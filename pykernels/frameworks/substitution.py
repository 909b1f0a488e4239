"""Run a kernel's NumPy function with another implementation of NumPy, which a framework traces."""

from __future__ import annotations

import inspect
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.frameworks.loops import refuse_loops
from pykernels.kernel.read.source import IS_TRAIN, KernelFunction


def run(
    kernel: KernelFunction,
    op: OpDef,
    numpy: Any,
    inputs: Sequence[Sequence[Any]],
    outs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    *,
    is_train: bool,
    constant: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Return what a kernel returns, or the `outs` that it has written into.

    Parameters
    ----------
    numpy : object
        What the kernel finds under the name ``np``.
    constant : callable, optional
        Returns an array or number of NumPy's from the top level of the kernel's file as one of `numpy`.
    inputs, outs : sequence of sequence
        Arrays of `numpy` for each input, and for each output.

    Raises
    ------
    KernelError
        The kernel has a loop over elements.
    """
    refuse_loops(kernel)
    function = _with(kernel, numpy, constant or (lambda value: value))
    args = tuple(map(_operand, op.inputs, inputs))
    keywords = {name: is_train if name == IS_TRAIN else attributes[name] for name in kernel.keywords}
    if kernel.takes_outs:
        function(args, tuple(map(_operand, op.outputs, outs)), **keywords)
        return [out for group in outs for out in group]
    found = function(args, **keywords)
    if found is None and not op.outputs:
        return []
    return list(found) if isinstance(found, (tuple, list)) else [found]


def explain(kernel: KernelFunction, error: Exception) -> tuple[str, str]:
    """Return the line of a kernel, or of its helpers, that has raised an error, and the first line of its message."""
    files = {str(kernel.path), *map(inspect.getfile, kernel.helpers)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else kernel.where
    why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return at, why.rstrip(".")


def check_shapes(kernel: KernelFunction, shapes: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise `KernelError` if results do not have the shapes that the definition infers."""
    if [tuple(result.shape) for result in results] != [tuple(shape) for shape in shapes]:
        found = ", ".join(str(tuple(result.shape)) for result in results)
        raise KernelError(
            f"{kernel.where}: {kernel.name} returns arrays of the shapes {found}, but the definition infers "
            f"{', '.join(str(tuple(shape)) for shape in shapes)}"
        )


def _operand(argument: Argument, arrays: Sequence[Any]) -> Any:
    if argument.repeated:
        return tuple(arrays)
    return arrays[0] if arrays else None


def _with(kernel: KernelFunction, numpy: Any, constant: Callable[[Any], Any]) -> types.FunctionType:
    """Return the function of a kernel with `numpy` in place of NumPy, also in its helpers."""
    plain = {getattr(each, "py_func", each) for each in (kernel.function, *kernel.helpers)}
    namespaces: dict[int, dict[str, Any]] = {}
    made: dict[Any, types.FunctionType] = {}

    def translated(value: Any) -> Any:
        if value is np:
            return numpy
        if isinstance(value, (np.ndarray, np.generic)):
            return constant(value)
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType) and function in plain:
            return remade(function)
        name = getattr(value, "__name__", "")
        is_numpys = isinstance(value, (np.ufunc, types.FunctionType, type)) and getattr(np, name, None) is value
        return getattr(numpy, name, value) if is_numpys else value

    def remade(function: types.FunctionType) -> types.FunctionType:
        if function not in made:
            namespace = namespaces.setdefault(id(function.__globals__), {})
            made[function] = types.FunctionType(
                function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
            )
            made[function].__kwdefaults__ = function.__kwdefaults__
            if not namespace:
                namespace["__builtins__"] = __builtins__
                namespace.update({name: translated(value) for name, value in function.__globals__.items()})
        return made[function]

    return remade(kernel.function)
