"""Run a kernel's NumPy function on JAX's arrays, for devices that we do not compile for."""

from __future__ import annotations

import functools
import inspect
import operator
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pykernels.base.dtypes import computed_in
from pykernels.base.errors import KernelError, PykernelsError
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.frameworks.jax import table
from pykernels.frameworks.jax.use import Use, array_type, spec_of
from pykernels.frameworks.loops import refuse_loops
from pykernels.kernel.read.source import IS_TRAIN, KernelFunction


def run(use: Use, arrays: Sequence[Any]) -> list[Any]:
    """Return the outputs for arrays or tracers, before they are cast to their dtypes.

    Raises
    ------
    KernelError
        The kernel cannot be traced, or its results do not have the shapes of the definition.
    """
    kernel = table.find(use.op_type).kernel
    return _trace(use.op, kernel, use.inputs(arrays), use.values, use.output_counts, is_train=bool(use.is_train))


def why_not(op: OpDef, kernel: KernelFunction, inputs: Sequence[Sequence[Any]], attributes: Mapping[str, Any]) -> str:
    """Return why a kernel cannot be traced for a call with these arrays; "" if it can."""
    counts = [argument.count for argument in op.outputs]
    try:
        jax.eval_shape(lambda *groups: _trace(op, kernel, groups, attributes, counts, is_train=False), *inputs)
    except PykernelsError as error:
        return str(error)
    return ""


def _trace(
    op: OpDef,
    kernel: KernelFunction,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
    *,
    is_train: bool,
) -> list[Any]:
    refuse_loops(kernel)
    # As on the CPU, kernels compute in float32 on the elements of smaller types.
    wide = [[array.astype(computed_in(array.dtype)) for array in group] for group in inputs]
    args = tuple(map(_argument, op.inputs, wide))
    keywords = {name: is_train if name == IS_TRAIN else attributes[name] for name in kernel.keywords}
    given = [[spec_of(array, op.name) for array in group] for group in inputs]
    groups = op.infer(given, attributes, counts=counts)
    outs = [[Out(spec.shape, computed_in(array_type(spec).dtype)) for spec in group] for group in groups]
    try:
        if kernel.takes_outs:
            _on_jax(kernel)(args, tuple(map(_argument, op.outputs, outs)), **keywords)
            return [out.value for group in outs for out in group]
        found = _on_jax(kernel)(args, **keywords)
        results = [jnp.asarray(each) for each in (found if isinstance(found, (tuple, list)) else (found,))]
    except Exception as error:
        raise _refusal(kernel, error) from error
    _check(kernel, [spec.shape for group in groups for spec in group], results)
    return results


def _argument(argument: Argument, arrays: Sequence[Any]) -> Any:
    if argument.repeated:
        return tuple(arrays)
    return arrays[0] if arrays else None


def _check(kernel: KernelFunction, shapes: Sequence[Any], results: Sequence[Any]) -> None:
    if [tuple(result.shape) for result in results] != shapes:
        found = ", ".join(str(tuple(result.shape)) for result in results)
        raise KernelError(
            f"{kernel.where}: {kernel.name} returns arrays of the shapes {found}, but the definition infers "
            f"{', '.join(map(str, shapes))}"
        )


def _refusal(kernel: KernelFunction, error: Exception) -> KernelError:
    """Return an error with the line of the kernel at which tracing stopped."""
    files = {str(kernel.path), *map(inspect.getfile, kernel.helpers)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    at = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else kernel.where
    why = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return KernelError(
        f"{at}: the kernel runs on the CPU, but JAX cannot trace it for other devices: {why.rstrip('.')}. Write it "
        f"with operations on whole arrays, and without assignments to their elements"
    )


# ---- NumPy functions in terms of jax.numpy


class Out:
    """An output that a kernel writes into: it holds the array that the last statement has computed."""

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.value = jnp.zeros(shape, dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = self.value.at[key].set(value)

    def set(self, value: Any) -> Out:
        """Become this value."""
        self[...] = value
        return self


def _make_operators() -> None:
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
        function = getattr(operator, f"{name}_" if name in ("and", "or") else name)
        setattr(Out, f"__{name}__", lambda self, other, f=function: f(self.value, other))
        setattr(Out, f"__r{name}__", lambda self, other, f=function: f(other, self.value))
        setattr(Out, f"__i{name}__", lambda self, other, f=function: self.set(f(self.value, other)))


_make_operators()


class _Numpy:
    """What a kernel finds under the name ``np``: `jax.numpy`, and what computes nothing from NumPy."""

    errstate = np.errstate

    def __getattr__(self, name: str) -> Any:
        value = getattr(jnp, name)
        return value if isinstance(value, type) or not callable(value) else _with_out(value)


def _with_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `jax.numpy` that takes ``out``, as NumPy's do."""

    @functools.wraps(function)
    def called(*args: Any, out: Any = None, **keywords: Any) -> Any:
        result = function(*(arg.value if isinstance(arg, Out) else arg for arg in args), **keywords)
        return result if out is None else out.set(result)

    return called


@functools.lru_cache(maxsize=1024)
def _on_jax(kernel: KernelFunction) -> types.FunctionType:
    """Return the function of a kernel with `jax.numpy` in place of NumPy, also in its helpers."""
    plain = {getattr(each, "py_func", each) for each in (kernel.function, *kernel.helpers)}
    namespaces: dict[int, dict[str, Any]] = {}
    made: dict[Any, types.FunctionType] = {}

    def translated(value: Any) -> Any:
        if value is np:
            return _Numpy()
        function = getattr(value, "py_func", value)
        if isinstance(function, types.FunctionType) and function in plain:
            return remade(function)
        name = getattr(value, "__name__", "")
        is_numpys = isinstance(value, (np.ufunc, types.FunctionType)) and getattr(np, name, None) is value
        return getattr(jnp, name, value) if is_numpys else value

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
