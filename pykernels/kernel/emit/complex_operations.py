"""Emit operations of complex numbers, each of which is a pair of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import llvmlite.ir as ir
import numpy as np

from pykernels.base.dtypes import real
from pykernels.kernel.emit.vector_operations import EMITTERS as OF_REALS
from pykernels.kernel.emit.vector_writer import Emitter, Writer, number_like

_Complex: TypeAlias = tuple[ir.Value, ir.Value]


def _by_parts(name: str) -> Emitter:
    """Return the emitter of an operation that computes one part after the other."""

    def emit(w: Writer, dtype: np.dtype, *operands: _Complex) -> _Complex:
        first, second = (OF_REALS[name](w, real(dtype), *parts) for parts in zip(*operands))
        return first, second

    return emit


def _together(name: str, combine: str) -> Emitter:
    """Return the emitter of a question about both parts."""

    def emit(w: Writer, dtype: np.dtype, *operands: _Complex) -> ir.Value:
        return getattr(w.builder, combine)(*_by_parts(name)(w, dtype, *operands))

    return emit


def _multiply(w: Writer, dtype: np.dtype, a: _Complex, b: _Complex) -> _Complex:
    def times(x: ir.Value, y: ir.Value) -> ir.Value:
        return w.builder.fmul(x, y, flags=w.flags)

    first = w.builder.fsub(times(a[0], b[0]), times(a[1], b[1]), flags=w.flags)
    return first, w.builder.fadd(times(a[0], b[1]), times(a[1], b[0]), flags=w.flags)


def _divide(w: Writer, dtype: np.dtype, a: _Complex, b: _Complex) -> _Complex:
    """Divide in NumPy's steps, by the larger part of the divisor first (Smith, CACM 5(8), 1962)."""
    builder, one = w.builder, number_like(b[0], 1)
    sizes = [w.intrinsic("fabs", part) for part in b]
    is_real = builder.fcmp_ordered(">=", *sizes)
    large, small = builder.select(is_real, *b), builder.select(is_real, b[1], b[0])
    near, far = builder.select(is_real, *a), builder.select(is_real, a[1], a[0])
    ratio = builder.fdiv(small, large)
    scale = builder.fdiv(one, builder.fadd(large, builder.fmul(small, ratio)))
    first = builder.fmul(builder.fadd(near, builder.fmul(far, ratio)), scale)
    turned = builder.fmul(near, ratio)
    second = builder.select(is_real, builder.fsub(far, turned), builder.fsub(turned, far))
    zero = number_like(one, 0)
    by_zero = builder.and_(*(builder.fcmp_ordered("==", size, zero) for size in sizes))
    plain = [builder.fdiv(part, size) for part, size in zip(a, sizes)]
    return builder.select(by_zero, plain[0], first), builder.select(by_zero, plain[1], builder.fmul(second, scale))


def _exp(w: Writer, dtype: np.dtype, a: _Complex) -> _Complex:
    size, angle = w.math("exp", a[0]), a[1]
    first, second = (w.builder.fmul(size, w.math(name, angle)) for name in ("cos", "sin"))
    # The exponential of a real number is real, also where it is infinite.
    is_real = w.builder.fcmp_ordered("==", angle, number_like(angle, 0))
    return w.builder.select(is_real, size, first), w.builder.select(is_real, angle, second)


def _where(w: Writer, dtype: np.dtype, condition: ir.Value, chosen: _Complex, otherwise: _Complex) -> _Complex:
    first, second = (w.builder.select(condition, *parts) for parts in zip(chosen, otherwise))
    return first, second


#: The emitters of `operations.OF_COMPLEX`, but for powers, which are products.
EMITTERS: Mapping[str, Emitter] = {
    **{name: _by_parts(name) for name in ("add", "subtract", "negative")},
    **dict.fromkeys(("positive", "convert"), lambda w, dtype, a: a),
    "multiply": _multiply,
    "square": lambda w, dtype, a: _multiply(w, dtype, a, a),
    "divide": _divide,
    "exp": _exp,
    "where": _where,
    "absolute": lambda w, dtype, a: w.math("hypot", *a),
    "conjugate": lambda w, dtype, a: (a[0], w.builder.fneg(a[1])),
    "real": lambda w, dtype, a: a[0],
    "imag": lambda w, dtype, a: a[1],
    "equal": _together("equal", "and_"),
    "not_equal": _together("not_equal", "or_"),
    "isnan": _together("isnan", "or_"),
    "isinf": _together("isinf", "or_"),
    "isfinite": _together("isfinite", "and_"),
}
