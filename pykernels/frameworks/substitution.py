"""Run a kernel's NumPy function with another implementation of NumPy, which a framework traces."""

from __future__ import annotations

import inspect
import traceback
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.base.errors import KernelError, PykernelsWarning
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.frameworks.loops import refuse_loops
from pykernels.kernel.read.source import CURE_OF_WRITES, IS_TRAIN, KernelFunction

_reported: set[tuple[str, KernelFunction]] = set()


@dataclass(frozen=True)
class Numpy:
    """An implementation of NumPy that a framework traces.

    Parameters
    ----------
    framework : str
        Its name in messages.
    functions : object
        What a kernel finds under the name ``np``.
    array : callable
        Returns what a kernel has computed as an array of the framework.
    constant : callable
        Returns an array or number of NumPy's from the top level of a kernel's file as one of this implementation.
    """

    framework: str
    functions: Any
    array: Callable[[Any], Any]
    constant: Callable[[Any], Any] = lambda value: value


def run(
    kernel: KernelFunction,
    op: OpDef,
    numpy: Numpy,
    inputs: Sequence[Sequence[Any]],
    outs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    *,
    is_train: bool,
    shapes: Sequence[Any],
) -> list[Any]:
    """Return what a kernel returns, or the `outs` that it has written into, as arrays of the framework.

    Parameters
    ----------
    inputs, outs : sequence of sequence
        Arrays of `numpy` for each input, and for each output.
    shapes : sequence
        Those of the outputs that the definition infers.

    Raises
    ------
    KernelError
        The kernel cannot be traced, or its results do not have these shapes.
    """
    refuse_loops(kernel)
    args = tuple(map(_operand, op.inputs, inputs))
    keywords = {name: is_train if name == IS_TRAIN else attributes[name] for name in kernel.keywords}
    try:
        function = _with(kernel, numpy)
        if kernel.takes_outs:
            function(args, tuple(map(_operand, op.outputs, outs)), **keywords)
            found: Any = [out for group in outs for out in group]
        else:
            found = function(args, **keywords)
        if found is None and not op.outputs:
            found = ()
        results = list(map(numpy.array, found if isinstance(found, (tuple, list)) else (found,)))
    except Exception as error:
        files = {str(kernel.path), *map(inspect.getfile, kernel.helpers)}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else kernel.where
        why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise KernelError(
            f"{at}: {numpy.framework} cannot trace the kernel: {why.rstrip('.')}. Write it with operations on whole "
            f"arrays"
        ) from error
    if [tuple(result.shape) for result in results] != [tuple(shape) for shape in shapes]:
        given = ", ".join(str(tuple(result.shape)) for result in results)
        raise KernelError(
            f"{kernel.where}: {kernel.name} returns arrays of the shapes {given}, but the definition infers "
            f"{', '.join(str(tuple(shape)) for shape in shapes)}"
        )
    return results


def writes_to_input(kernel: KernelFunction, op: OpDef, argument: Argument) -> KernelError:
    """Return the error of a kernel that has changed an input that the definition does not let it change."""
    return KernelError(
        f"op '{op.name}': {kernel.where}: {kernel.name} writes to its input '{argument.name}'. {CURE_OF_WRITES}"
    )


def report(kernel: KernelFunction, op_type: str, caller: str, reason: KernelError) -> None:
    """Say once why a compiler, the `caller`, does not see through an op that is loaded with ``fuse=True``."""
    if (caller, kernel) not in _reported:
        _reported.add((caller, kernel))
        text = f"op {op_type!r} is loaded with fuse=True, but {caller} calls it as it is: {reason}"
        warnings.warn(text, PykernelsWarning, stacklevel=3)


def _operand(argument: Argument, arrays: Sequence[Any]) -> Any:
    if argument.repeated:
        return tuple(arrays)
    return arrays[0] if arrays else None


def _with(kernel: KernelFunction, numpy: Numpy) -> types.FunctionType:
    """Return the function of a kernel with `numpy` in place of NumPy, also in its helpers."""
    plain = {getattr(each, "py_func", each) for each in (kernel.function, *kernel.helpers)}
    namespaces: dict[int, dict[str, Any]] = {}
    made: dict[Any, types.FunctionType] = {}

    def translated(value: Any) -> Any:
        if value is np:
            return numpy.functions
        if isinstance(value, (np.ndarray, np.generic)):
            return numpy.constant(value)
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType) and function in plain:
            return remade(function)
        name = getattr(value, "__name__", "")
        is_numpys = isinstance(value, (np.ufunc, types.FunctionType, type)) and getattr(np, name, None) is value
        return getattr(numpy.functions, name, value) if is_numpys else value

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
