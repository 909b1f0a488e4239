"""Run a kernel's NumPy function on JAX's arrays, for devices that we do not compile for."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pykernels.base.dtypes import computed_in
from pykernels.base.errors import KernelError, PykernelsError
from pykernels.define.definition import OpDef
from pykernels.frameworks import substitution
from pykernels.frameworks.jax import table
from pykernels.frameworks.jax.use import Use, array_type, spec_of
from pykernels.kernel.read.source import KernelFunction


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
    # As on the CPU, kernels compute in float32 on the elements of smaller types.
    wide = [[array.astype(computed_in(array.dtype)) for array in group] for group in inputs]
    given = [[spec_of(array, op.name) for array in group] for group in inputs]
    groups = op.infer(given, attributes, counts=counts)
    outs = [[Out(spec.shape, computed_in(array_type(spec).dtype)) for spec in group] for group in groups]
    try:
        found = substitution.run(kernel, op, _NUMPY, wide, outs, attributes, is_train=is_train)
        results = [each.value if isinstance(each, Out) else jnp.asarray(each) for each in found]
    except PykernelsError:
        raise
    except Exception as error:
        at, why = substitution.explain(kernel, error)
        raise KernelError(
            f"{at}: the kernel runs on the CPU, but JAX cannot trace it for other devices: {why}. Write it with "
            f"operations on whole arrays, and without assignments to their elements"
        ) from error
    substitution.check_shapes(kernel, [spec.shape for group in groups for spec in group], results)
    return results


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


_NUMPY = _Numpy()
