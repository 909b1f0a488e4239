"""Emit each operation of an expression, on numbers and on vectors, with NumPy's special cases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.vector_divisions import floor_divide, fmod, remainder
from pykernels.kernel.emit.vector_writer import Emitter, Writer, number_like
from pykernels.kernel.expression.operations import OPERATIONS, Cost


def _number(value: ir.Value) -> float:
    """Return the number that a value is known to be; NaN if it is not known."""
    if not isinstance(value, ir.Constant):
        return math.nan
    number = value.constant[0].constant if isinstance(value.type, ir.VectorType) else value.constant
    return float(number)


def _by_kind(real: str, signed: str, unsigned: str | None = None, truth: str | None = None) -> Emitter:
    """Return the emitter of an operation that is one instruction for each kind of dtype."""
    names = {"i": signed, "u": unsigned or signed, "b": truth or unsigned or signed}

    def emit(w: Writer, dtype: np.dtype, *operands: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            return getattr(w.builder, real)(*operands, flags=w.flags)
        return getattr(w.builder, names[dtype.kind])(*operands)

    return emit


def _compare(symbol: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            return (w.builder.fcmp_unordered if symbol == "!=" else w.builder.fcmp_ordered)(symbol, a, b)
        return (w.builder.icmp_signed if dtype.kind == "i" else w.builder.icmp_unsigned)(symbol, a, b)

    return emit


def _extreme(symbol: str, *, ignores_nan: bool) -> Emitter:
    """Return the emitter of an extremum; of equal operands the second, as in NumPy's vector code (zeros show it)."""

    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        bound = _number(b) if dtype.kind == "f" and not ignores_nan else math.nan
        if bound == bound and (bound or math.copysign(1, bound) > 0):
            # One instruction, which returns its second operand if either is NaN or both are zeros.
            first = w.builder.select(_compare(symbol)(w, dtype, b, a), b, a)
            return first if bound else w.builder.fadd(first, b)  # -0 + 0 is 0
        first = w.builder.select(_compare(symbol)(w, dtype, a, b), a, b)
        if dtype.kind != "f":
            return first
        decisive = b if ignores_nan else a
        return w.builder.select(w.builder.fcmp_unordered("uno", decisive, decisive), a, first)

    return emit


def _rounding(name: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
        return w.intrinsic(name, a) if dtype.kind == "f" else a

    return emit


def _function(name: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, *operands: ir.Value) -> ir.Value:
        return w.math(name, *operands)

    return emit


def _absolute(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        return w.intrinsic("fabs", a)
    if dtype.kind != "i":
        return a
    return w.builder.select(w.builder.icmp_signed("<", a, number_like(a, 0)), w.builder.neg(a), a)


def _sign(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    zero, one = number_like(a, 0), number_like(a, 1)
    if dtype.kind == "u":
        return w.builder.select(w.builder.icmp_unsigned("!=", a, zero), one, zero)
    below = w.builder.select(_compare("<")(w, dtype, a, zero), number_like(a, -1), zero)
    sign = w.builder.select(_compare(">")(w, dtype, a, zero), one, below)
    return w.builder.select(w.builder.fcmp_unordered("uno", a, a), a, sign) if dtype.kind == "f" else sign


def _square(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return EMITTERS["multiply"](w, dtype, a, a)


def _reciprocal(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return EMITTERS["divide"](w, dtype, number_like(a, 1), a)


def _shift(direction: str) -> Emitter:
    """Return the emitter of a shift; shifting by the number of bits or more leaves only the sign."""

    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        width = 8 * dtype.itemsize
        fits = w.builder.icmp_unsigned("<", b, number_like(b, width))
        if direction == "left":
            shifted = w.builder.shl(a, w.builder.select(fits, b, number_like(b, 0)))
            return w.builder.select(fits, shifted, number_like(a, 0))
        shift = w.builder.ashr if dtype.kind == "i" else w.builder.lshr
        shifted = shift(a, w.builder.select(fits, b, number_like(b, 0)))
        gone = shift(a, number_like(a, width - 1)) if dtype.kind == "i" else number_like(a, 0)
        return w.builder.select(fits, shifted, gone)

    return emit


def _isnan(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return w.builder.fcmp_unordered("uno", a, a) if dtype.kind == "f" else _none(w, a)


def _isinf(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind != "f":
        return _none(w, a)
    return w.builder.fcmp_ordered("==", w.intrinsic("fabs", a), number_like(a, float("inf")))


def _isfinite(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind != "f":
        return w.builder.not_(_none(w, a))
    return w.builder.fcmp_ordered("<", w.intrinsic("fabs", a), number_like(a, float("inf")))


def _signbit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        integer: Any = ir.IntType(64 if dtype == np.float64 else 32)
        if isinstance(a.type, ir.VectorType):
            integer = ir.VectorType(integer, a.type.count)
        a = w.builder.bitcast(a, integer)
    return w.builder.icmp_signed("<", a, number_like(a, 0)) if dtype.kind in "fi" else _none(w, a)


def _none(w: Writer, a: ir.Value) -> ir.Value:
    return w.builder.icmp_unsigned("!=", a, a)


def _copysign(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return w.intrinsic("copysign", a, b)


def _heaviside(w: Writer, dtype: np.dtype, a: ir.Value, at_zero: ir.Value) -> ir.Value:
    builder, zero = w.builder, number_like(a, 0)
    step = builder.select(builder.fcmp_ordered(">", a, zero), number_like(a, 1), zero)
    step = builder.select(builder.fcmp_ordered("==", a, zero), at_zero, step)
    return builder.select(builder.fcmp_unordered("uno", a, a), a, step)


def _logaddexp(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    builder = w.builder
    # The difference of equal infinities is NaN.
    equal = builder.fcmp_ordered("==", a, b)
    difference = builder.select(equal, number_like(a, 0), builder.fsub(a, b))
    greater = builder.select(builder.fcmp_ordered(">", a, b), a, b)
    return builder.fadd(greater, w.math("log1p", w.math("exp", builder.fneg(w.intrinsic("fabs", difference)))))


def _expit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    builder, one = w.builder, number_like(a, 1)
    small = w.math("exp", builder.fneg(w.intrinsic("fabs", a)))
    numerator = builder.select(builder.fcmp_ordered("<", a, number_like(a, 0)), small, one)
    return builder.fdiv(numerator, builder.fadd(one, small))


def _convert(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return a  # the operands already have the dtype


def _to_half(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    """Round a float32 number to float16, and continue in float32."""
    half: Any = ir.HalfType()
    if isinstance(a.type, ir.VectorType):
        half = ir.VectorType(half, a.type.count)
    return w.builder.fpext(w.builder.fptrunc(a, half), a.type)


def _where(w: Writer, dtype: np.dtype, condition: ir.Value, chosen: ir.Value, otherwise: ir.Value) -> ir.Value:
    return w.builder.select(condition, chosen, otherwise)


#: The emitters by the names of `operations.OPERATIONS`.
EMITTERS: Mapping[str, Emitter] = {
    "add": _by_kind("fadd", "add", truth="or_"),
    "subtract": _by_kind("fsub", "sub"),
    "multiply": _by_kind("fmul", "mul", truth="and_"),
    "divide": _by_kind("fdiv", "sdiv"),
    "floor_divide": floor_divide,
    "remainder": remainder,
    "fmod": fmod,
    "maximum": _extreme(">", ignores_nan=False),
    "minimum": _extreme("<", ignores_nan=False),
    "fmax": _extreme(">", ignores_nan=True),
    "fmin": _extreme("<", ignores_nan=True),
    "negative": _by_kind("fneg", "neg"),
    "positive": _convert,
    "convert": _convert,
    "wrap": _convert,
    "to_half": _to_half,
    "absolute": _absolute,
    "sign": _sign,
    "square": _square,
    "reciprocal": _reciprocal,
    "sqrt": _rounding("sqrt"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": _rounding("rint"),
    "bitwise_and": _by_kind("and_", "and_"),
    "bitwise_or": _by_kind("or_", "or_"),
    "bitwise_xor": _by_kind("xor", "xor"),
    "invert": _by_kind("not_", "not_"),
    "logical_and": _by_kind("and_", "and_"),
    "logical_or": _by_kind("or_", "or_"),
    "logical_xor": _by_kind("xor", "xor"),
    "logical_not": _by_kind("not_", "not_"),
    "left_shift": _shift("left"),
    "right_shift": _shift("right"),
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "greater": _compare(">"),
    "greater_equal": _compare(">="),
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "signbit": _signbit,
    "copysign": _copysign,
    "heaviside": _heaviside,
    "logaddexp": _logaddexp,
    "expit": _expit,
    "where": _where,
    **{name: _function(row.c) for name, row in OPERATIONS.items() if row.c and row.cost is Cost.HIGH},
}
