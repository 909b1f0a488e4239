"""Functions of float32 as inline vector instructions, where a call of the vector math library costs the most.

They serve processors without the table lookups in registers that `inline_tables` uses.

A call saves every register; inline, the instructions of one vector overlap with those of the next. Each function is
reduced to a small interval, where a polynomial is accurate to the precision of float32. The polynomials were fitted by
weighted least squares on Chebyshev nodes, which distributes the relative error evenly; all results are within 2 units
in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import llvmlite.ir as ir

from pykernels.kernel.emit.instructions import Instructions, bits, constant, fma, integer, polynomial

# 1.5 * 2**23: adding it rounds a number to an integer, which the low bits of the sum then hold, below nine zeros.
_ROUNDER = 12582912.0
_ONE_BITS, _MANTISSA_BITS, _HALF_ROOT_BITS = 0x3F800000, 23, 0x3F3504F3  # of 1; of the mantissa; of sqrt(1/2)
# ln 2 in two parts. The first ends in zero bits, so that its product with a small integer is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, math.log(2) - 0.693359375

# Coefficients, from the highest power to the lowest.
_EXP = (
    *(0.0001961180241778493, 0.0014104304136708379, 0.008336098864674568, 0.041661277413368225, 0.1666661500930786),
    0.5000003576278687,
)
_LOG = (
    *(-0.07622110098600388, 0.12904691696166992, -0.13242976367473602, 0.14181779325008392, -0.16609077155590057),
    *(0.20001976191997528, -0.25001582503318787, 0.33333325386047363, -0.49999988079071045),
)
_TANH = (-0.005704987328499556, 0.0206390880048275, -0.05373971536755562, 0.13331441581249237, -0.3333328068256378)
_ERF_SMALL = (
    *(7.853897113818675e-05, -0.000801020534709096, 0.005188329145312309, -0.026853812858462334, 0.1128358542919159),
    *(-0.3761262595653534, 0.12837916612625122),
)
_LOG_ERFC = (
    *(0.00018637925677467138, -0.0029476589988917112, 0.02183806709945202, -0.10310675948858261, -0.638144850730896),
    *(-1.1270891427993774, -0.0003415223036427051),
)


def _exp(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit ``2**n * exp(r) * 2**n`` with ``|r| <= ln(2)``; beyond the limits the result is 0 or infinite anyway.

    The two factors ``2**n`` are applied one by one, since their product may be out of range where the result is not.
    """
    b = w.builder
    x = b.select(b.fcmp_ordered(">", x, constant(x, 89)), constant(x, 89), x)
    x = b.select(b.fcmp_ordered("<", x, constant(x, -104)), constant(x, -104), x)
    rounded = fma(w, x, constant(x, 0.5 / math.log(2)), constant(x, _ROUNDER))
    n = b.fsub(rounded, constant(x, _ROUNDER))
    r = fma(w, n, constant(x, -2 * _LN2_HIGH), x)
    r = fma(w, n, constant(x, -2 * _LN2_LOW), r)
    curve = b.fadd(fma(w, b.fmul(r, r), polynomial(w, r, _EXP), r), constant(x, 1))
    power = _power_of_two(w, x, bits(w, rounded))
    return b.fmul(b.fmul(curve, power), power)


def _log(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit ``n * ln(2) + log1p(m)`` with ``1 + m`` between the square roots of 1/2 and 2."""
    b = w.builder
    is_tiny = b.fcmp_ordered("<", x, constant(x, 2.0**-126))
    normal = b.select(is_tiny, b.fmul(x, constant(x, 2.0**32)), x)
    above = b.sub(bits(w, normal), integer(x, _HALF_ROOT_BITS))
    mantissa = b.and_(above, integer(x, (1 << _MANTISSA_BITS) - 1))
    m = b.fsub(b.bitcast(b.add(mantissa, integer(x, _HALF_ROOT_BITS)), x.type), constant(x, 1))
    n = b.sitofp(b.ashr(above, integer(x, _MANTISSA_BITS)), x.type)
    n = b.select(is_tiny, b.fsub(n, constant(x, 32)), n)
    return _log_edges(w, x, constant(x, 0), _log_sum(w, n, m))


def _log1p(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit `_log` of ``1 + x``, but compute ``m`` from `x` itself, since ``1 + x`` loses the last digits of `x`."""
    if w.is_fraction(x):  # there are no special cases
        return _log_sum(w, *_log1p_parts(w, x, constant(x, 1)))
    b = w.builder
    is_large = b.fcmp_ordered(">", x, constant(x, 2.0**60))  # adding 1 changes nothing there
    scaled = b.select(is_large, b.fmul(x, constant(x, 2.0**-64)), x)
    n, m = _log1p_parts(w, scaled, b.select(is_large, constant(x, 0), constant(x, 1)))
    n = b.select(is_large, b.fadd(n, constant(x, 64)), n)
    result = _log_edges(w, x, constant(x, -1), _log_sum(w, n, m))
    return b.select(b.fcmp_ordered("==", x, constant(x, 0)), x, result)


def _log1p_parts(w: Instructions, x: ir.Value, one: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return `n` and `m` with ``2**n * (1 + m) = one + x``."""
    b = w.builder
    above = b.sub(bits(w, b.fadd(x, one)), integer(x, _HALF_ROOT_BITS))
    exponent = b.ashr(above, integer(x, _MANTISSA_BITS))
    unit = _power_of_two(w, x, b.sub(integer(x, 0), exponent))
    return b.sitofp(exponent, x.type), fma(w, x, unit, fma(w, one, unit, constant(x, -1)))


def _log_sum(w: Instructions, n: ir.Value, m: ir.Value) -> ir.Value:
    curve = fma(w, w.builder.fmul(m, m), polynomial(w, m, _LOG), m)
    return fma(w, n, constant(m, _LN2_HIGH), fma(w, n, constant(m, _LN2_LOW), curve))


def _log_edges(w: Instructions, x: ir.Value, least: ir.Value, inside: ir.Value) -> ir.Value:
    """Add the special cases of a logarithm: -infinity at `least`, NaN below it and for NaN, infinity for infinity."""
    b, infinity = w.builder, constant(x, math.inf)
    result = b.select(b.fcmp_ordered("==", x, infinity), infinity, inside)
    result = b.select(b.fcmp_ordered("==", x, least), constant(x, -math.inf), result)
    return b.select(b.fcmp_unordered("<", x, least), constant(x, math.nan), result)


def _tanh(w: Instructions, x: ir.Value) -> ir.Value:
    b, one = w.builder, constant(x, 1)
    size = w.intrinsic("fabs", x)
    square = b.fmul(size, size)
    small = fma(w, b.fmul(size, square), polynomial(w, square, _TANH), size)
    large = b.fsub(one, b.fdiv(constant(x, 2), b.fadd(_exp(w, b.fadd(size, size)), one)))
    result = b.select(b.fcmp_ordered("<", size, constant(x, 0.625)), small, large)
    return w.intrinsic("copysign", result, x)


def _erf(w: Instructions, x: ir.Value) -> ir.Value:
    b, one = w.builder, constant(x, 1)
    size = w.intrinsic("fabs", x)
    small = fma(w, size, polynomial(w, b.fmul(size, size), _ERF_SMALL), size)
    bounded = b.select(b.fcmp_ordered(">", size, constant(x, 4)), constant(x, 4), size)
    large = b.fsub(one, _exp(w, polynomial(w, bounded, _LOG_ERFC)))
    result = b.select(b.fcmp_ordered("<", size, one), small, large)
    return w.intrinsic("copysign", result, x)


def _power_of_two(w: Instructions, like: ir.Value, n: ir.Value) -> ir.Value:
    """Emit ``2**n``; only the lowest nine bits of `n` count."""
    shifted = w.builder.shl(n, integer(like, _MANTISSA_BITS))
    return w.builder.bitcast(w.builder.add(shifted, integer(like, _ONE_BITS)), like.type)


#: The emitters by C name: ``(writer, vector of float32) -> vector``. They need fused multiply-add.
INLINE: Mapping[str, Callable[[Instructions, ir.Value], ir.Value]] = {
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
    "erf": _erf,
}
#: The functions that are slower than a call of the vector math library; they are used only where it lacks them.
SLOWER = frozenset({"log", "erf"})
