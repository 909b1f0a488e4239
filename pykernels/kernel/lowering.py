"""What compiled kernels call: the user's own helpers, weak Python numbers, read-only arrays, float16."""

from __future__ import annotations

import functools
from typing import Any

import llvmlite.ir as ir
import numba
import numpy as np
from numba import types as nb
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype

from pykernels.kernel import weak

__all__ = ["OPTIONS", "apply_weak", "make_callable", "narrow", "read_only", "widen"]

#: Divisions follow NumPy, and an index past the end raises, as it does in Python.
OPTIONS = {"error_model": "numpy", "boundscheck": True}


@functools.cache
def make_callable(helper: Any) -> None:
    """Let compiled code call a plain function of the user's."""
    rewritten = weak.rewrite(helper, (), apply_weak)

    @overload(helper, jit_options=OPTIONS, strict=False)
    def typed(*args: Any, **kwargs: Any) -> Any:
        return rewritten


def apply_weak(function: Any, mask: int, like: int, *operands: Any) -> Any:
    """``function(*operands)``, where `mask` tells which are Python numbers, and `like` whose dtype they take."""
    raise TypeError("only compiled code calls this")


@overload(apply_weak, prefer_literal=True, strict=False)
def _apply_weak_typed(function: nb.Type, mask: nb.Type, like: nb.Type, *operands: nb.Type) -> Any:
    other = operands[like.literal_value]
    dtype = other.dtype if isinstance(other, nb.Array) else other
    casts, arguments = {}, []
    for at, operand in enumerate(operands):
        cast = _weak_cast(dtype, operand) if mask.literal_value >> at & 1 else None
        arguments.append(f"operands[{at}]" if cast is None else f"cast{at}(operands[{at}])")
        casts[f"cast{at}"] = cast
    source = f"def apply(function, mask, like, *operands):\n    return function({', '.join(arguments)})\n"
    exec(source, casts)
    return casts["apply"]


def _weak_cast(dtype: nb.Type, number: nb.Type) -> Any:
    """The NumPy type that a Python number takes next to `dtype`; None to leave it as it is."""
    if isinstance(number, nb.IntegerLiteral) and isinstance(dtype, nb.Integer):
        # What does not fit stays as it is; the plain NumPy run then decides about the result.
        return as_dtype(dtype).type if dtype.minval <= number.literal_value <= dtype.maxval else None
    if isinstance(number, nb.Integer) and isinstance(dtype, (nb.Integer, nb.Float)):
        return as_dtype(dtype).type
    if isinstance(number, nb.Float) and isinstance(dtype, nb.Float):
        return as_dtype(dtype).type
    return None


@intrinsic
def read_only(typing_context: Any, array: nb.Array) -> Any:
    """The same array, of a type that cannot be written to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return impl_ret_borrowed(context, builder, signature.return_type, arguments[0])

    return array.copy(readonly=True)(array), generate


@intrinsic
def _from_half(typing_context: Any, bits: nb.Integer) -> Any:
    """The float32 that the bits of a float16 stand for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(builder.bitcast(arguments[0], ir.HalfType()), ir.FloatType())

    return nb.float32(nb.uint16), generate


@intrinsic
def _to_half(typing_context: Any, number: nb.Float) -> Any:
    """The bits of the float16 nearest to a float32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(builder.fptrunc(arguments[0], ir.HalfType()), ir.IntType(16))

    return nb.uint16(nb.float32), generate


@numba.njit(error_model="numpy")
def widen(halves: Any) -> Any:
    """A float32 array of the numbers whose float16 bits `halves` holds."""
    singles = np.empty(halves.shape, np.float32)
    source, target = halves.reshape(-1), singles.reshape(-1)
    for i in range(source.size):
        target[i] = _from_half(source[i])
    return singles


@numba.njit(error_model="numpy")
def narrow(singles: Any, halves: Any) -> None:
    """Write float32 numbers as float16 bits."""
    source, target = singles.reshape(-1), halves.reshape(-1)
    for i in range(source.size):
        target[i] = _to_half(source[i])
