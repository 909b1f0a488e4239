"""Emit each operation of an expression, on numbers and on vectors, with NumPy's special cases."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit import gamma_functions
from pykernels.kernel.emit.masked_memory import gather
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


def _floor_divide(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the quotient, rounded down."""
    return _divide_with_floor(w, dtype, a, b)[0]


def _remainder(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the remainder that has the sign of the divisor."""
    return _divide_with_floor(w, dtype, a, b)[1]


def _divide_with_floor(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Emit the quotient and the remainder that has the sign of the divisor, in NumPy's steps."""
    return (_divide_reals if dtype.kind == "f" else _divide_integers)(w, dtype, a, b)


def _divide_reals(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    builder, zero = w.builder, number_like(a, 0)
    remainder = w.math("fmod", a, b)
    quotient = builder.fdiv(builder.fsub(a, remainder), b)
    is_rest = builder.fcmp_unordered("!=", remainder, zero)
    signs_differ = builder.xor(builder.fcmp_ordered("<", b, zero), builder.fcmp_ordered("<", remainder, zero))
    corrects = builder.and_(is_rest, signs_differ)
    quotient = builder.select(corrects, builder.fsub(quotient, number_like(a, 1)), quotient)
    adjusted = builder.select(corrects, builder.fadd(remainder, b), remainder)
    adjusted = builder.select(is_rest, adjusted, w.intrinsic("copysign", zero, b))
    floor = w.intrinsic("floor", quotient)
    too_low = builder.fcmp_ordered(">", builder.fsub(quotient, floor), number_like(a, 0.5))
    floor = builder.select(too_low, builder.fadd(floor, number_like(a, 1)), floor)
    whole = builder.fdiv(a, b)
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    floor = builder.select(is_zero, w.intrinsic("copysign", zero, whole), floor)
    by_zero = builder.fcmp_ordered("==", b, zero)
    return builder.select(by_zero, whole, floor), builder.select(by_zero, remainder, adjusted)


def _divide_integers(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Emit an integer division; dividing by zero gives 0, and the smallest number by -1 wraps to itself."""
    builder, zero, one = w.builder, number_like(a, 0), number_like(a, 1)
    by_zero = builder.icmp_unsigned("==", b, zero)
    divisor = builder.select(by_zero, one, b)
    if dtype.kind == "u":
        quotient, rest = builder.udiv(a, divisor), builder.urem(a, divisor)
    else:
        by_minus_one = builder.icmp_signed("==", divisor, number_like(a, -1))
        safe = builder.select(by_minus_one, one, divisor)
        quotient = builder.select(by_minus_one, builder.neg(a), builder.sdiv(a, safe))
        rest = builder.srem(a, safe)
        signs_differ = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
        corrects = builder.and_(builder.icmp_signed("!=", rest, zero), signs_differ)
        quotient = builder.select(corrects, builder.sub(quotient, one), quotient)
        rest = builder.select(corrects, builder.add(rest, divisor), rest)
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _fmod(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the remainder that has the sign of the dividend."""
    if dtype.kind == "f":
        return w.math("fmod", a, b)
    builder, zero, one = w.builder, number_like(a, 0), number_like(a, 1)
    unsafe = builder.icmp_unsigned("==", b, zero)
    if dtype.kind == "i":
        unsafe = builder.or_(unsafe, builder.icmp_signed("==", b, number_like(a, -1)))
    divisor = builder.select(unsafe, one, b)
    rest = (builder.srem if dtype.kind == "i" else builder.urem)(a, divisor)
    return builder.select(unsafe, zero, rest)


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


def _logit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    builder, one = w.builder, number_like(a, 1)
    twice = builder.fsub(builder.fadd(a, a), one)
    # Near 1/2, where the logarithm is near 0.
    near = builder.fsub(w.math("log1p", twice), w.math("log1p", builder.fneg(twice)))
    is_near = builder.and_(
        builder.fcmp_ordered(">", a, number_like(a, 0.3)), builder.fcmp_ordered("<", a, number_like(a, 0.65))
    )
    return builder.select(is_near, near, w.math("log", builder.fdiv(a, builder.fsub(one, a))))


def _xlogy(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    zero = number_like(a, 0)
    is_zero = w.builder.and_(w.builder.fcmp_ordered("==", a, zero), w.builder.fcmp_ordered("ord", b, b))
    return w.builder.select(is_zero, zero, w.builder.fmul(a, w.math("log", b)))


def _convert(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return a  # the operands already have the dtype


def _to_half(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    """Round a float32 number to float16, and continue in float32."""
    half: Any = ir.HalfType()
    if isinstance(a.type, ir.VectorType):
        half = ir.VectorType(half, a.type.count)
    return w.builder.fpext(w.builder.fptrunc(a, half), a.type)


#: The emitters by the names of `operations.OPERATIONS`.
EMITTERS: Mapping[str, Emitter] = {
    "add": _by_kind("fadd", "add", truth="or_"),
    "subtract": _by_kind("fsub", "sub"),
    "multiply": _by_kind("fmul", "mul", truth="and_"),
    "divide": _by_kind("fdiv", "sdiv"),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "maximum": _extreme(">", ignores_nan=False),
    "minimum": _extreme("<", ignores_nan=False),
    "fmax": _extreme(">", ignores_nan=True),
    "fmin": _extreme("<", ignores_nan=True),
    "negative": _by_kind("fneg", "neg"),
    **dict.fromkeys(("positive", "conjugate", "real"), _convert),
    "imag": lambda w, dtype, a: number_like(a, 0),
    "convert": _convert,
    "wrap": _convert,
    "to_half": _to_half,
    "absolute": _absolute,
    "sign": _sign,
    "square": lambda w, dtype, a: EMITTERS["multiply"](w, dtype, a, a),
    "reciprocal": lambda w, dtype, a: EMITTERS["divide"](w, dtype, number_like(a, 1), a),
    **{name: _rounding(name) for name in ("sqrt", "floor", "ceil", "trunc", "rint")},
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
    "copysign": lambda w, dtype, a, b: w.intrinsic("copysign", a, b),
    "heaviside": _heaviside,
    "logaddexp": _logaddexp,
    "expit": _expit,
    "logit": _logit,
    "xlogy": _xlogy,
    "gammaln": gamma_functions.gammaln,
    "digamma": gamma_functions.digamma,
    "check": lambda w, dtype, place, is_inside, _: w.builder.select(is_inside, place, number_like(place, 0)),
    "gather": gather,
    "scatter": lambda w, dtype, *operands: operands[-1],
    "where": lambda w, dtype, condition, chosen, otherwise: w.builder.select(condition, chosen, otherwise),
    **{name: _function(row.c) for name, row in OPERATIONS.items() if row.c and row.cost is Cost.HIGH},
}
