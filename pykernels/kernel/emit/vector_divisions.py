"""Emit floor divisions and remainders."""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.vector_writer import Writer, number_like


def floor_divide(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the quotient, rounded down."""
    return _divide_with_floor(w, dtype, a, b)[0]


def remainder(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
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


def fmod(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
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
