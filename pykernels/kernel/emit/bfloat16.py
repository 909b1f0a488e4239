"""Emit conversions between float32 and bfloat16, which is the upper half of its bits."""

from __future__ import annotations

import llvmlite.ir as ir

#: The bits of 1.
ONE = 0x3F80
_QUIET = 0x40


def widened(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """Return the float32 number, or the vector of them, of bfloat16 numbers that are given by their bits."""
    wide = _like(bits, ir.IntType(32))
    return builder.bitcast(builder.shl(builder.zext(bits, wide), ir.Constant(wide, 16)), _like(bits, ir.FloatType()))


def narrowed(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """Return the bits of the bfloat16 numbers nearest to float32 numbers; of two, the even one.

    These are integer operations on every processor: the instructions of AVX-512 take numbers below the normal ones
    for 0.
    """
    wide, narrow = _like(number, ir.IntType(32)), _like(number, ir.IntType(16))
    bits = builder.bitcast(number, wide)
    upper = builder.lshr(bits, ir.Constant(wide, 16))
    is_odd = builder.and_(upper, ir.Constant(wide, 1))
    rounded = builder.add(bits, builder.add(is_odd, ir.Constant(wide, 0x7FFF)))
    nearest = builder.lshr(rounded, ir.Constant(wide, 16))
    is_nan = builder.fcmp_unordered("uno", number, number)
    return builder.trunc(builder.select(is_nan, builder.or_(upper, ir.Constant(wide, _QUIET)), nearest), narrow)


def _like(value: ir.Value, element: ir.Type) -> ir.Type:
    return ir.VectorType(element, value.type.count) if isinstance(value.type, ir.VectorType) else element
