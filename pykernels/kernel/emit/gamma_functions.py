"""The logarithm of the gamma function, and its derivative, the digamma function; both are computed in float64.

Digamma of a positive number is

- from 10 on its asymptotic series, whose coefficients are Bernoulli numbers;
- from 3 to 10 that series at ``x + 7``, minus the seven reciprocals between, which are one quotient of polynomials;
- from 1 to 2 the product of the distance from its zero and a polynomial, which keeps all digits near the zero;
- below 1 and from 2 to 3 the value at a number between 1 and 2, with one reciprocal.

Digamma of a negative number follows from that of ``1 - x`` and a cotangent. The polynomials were fitted by
interpolation at Chebyshev nodes, with errors below 1e-16.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.vector_writer import Writer, number_like

_SERIES_FROM, _RECIPROCALS = 10, 7
# Of digamma: the zero, in two parts.
_ZERO, _ZERO_REST = 1.4616321449683622, 9.549995429965697e-17

# Coefficients, from the highest power to the lowest. Of ``digamma(x) / (x - zero)``, in ``x - 1.5``:
_NEAR_ZERO = (
    *(0.00011881232908510335, -0.0001782188548855923, 9.653646261410062e-05, -0.00014480643368061614),
    *(0.00032395945401345196, -0.00048595039220036254, 0.0006909255761282986, -0.0010364584817312839),
    *(0.0015633696313653504, -0.0023454947397380833, 0.003518106563802472, -0.005279937255532708),
    *(0.007927021796868154, -0.011908220105959716, 0.017907248317313294, -0.026975796659787055),
    *(0.040760833940846085, -0.06192213327548831, 0.09498872445289039, -0.14840492305388092),
    *(0.24054248424078697, -0.4236274212814606, 0.9510558760318328),
)
# Of ``(pi * cot(pi * r) - 1 / r) / r``, in ``r * r``, for ``|r| <= 0.5``:
_COTANGENT = (
    *(-16.010441555350102, 14.00913635189951, -11.319882534156065, 1.3837148002891513, -2.8304597027964618),
    *(-1.8569869062340112, -2.0175482780709193, -1.9984989923885619, -2.000216397061563, -2.0004882445092558),
    *(-2.0019892571205644, -2.008154710650887, -2.0346861239837795, -2.1646464674222266, -3.289868133696453),
)
# Of the asymptotic series, in ``1 / (x * x)``:
_SERIES = (3617 / 8160, -1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12, 0.0)


def gammaln(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    """Emit the logarithm of the size of the gamma function, as SciPy has it."""
    x = _widened(w, a)
    lowest = number_like(x, -math.inf)
    value = w.builder.select(w.builder.fcmp_ordered("==", x, lowest), x, w.math("lgamma", x))
    return _narrowed(w, value, a)


def digamma(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    """Emit digamma; at 0 it is infinite, and NaN at negative whole numbers."""
    b, x = w.builder, _widened(w, a)
    zero, one = number_like(x, 0), number_like(x, 1)
    is_negative = b.fcmp_ordered("<", x, zero)
    y = b.select(is_negative, b.fsub(one, x), x)
    value = b.select(b.fcmp_ordered("<", y, number_like(x, 3)), _near_zero(w, y), _above(w, y))
    rest = b.fsub(x, w.intrinsic("rint", x))
    cotangent = b.fadd(b.fdiv(one, rest), b.fmul(rest, _polynomial(w, b.fmul(rest, rest), _COTANGENT)))
    cotangent = b.select(b.fcmp_ordered("==", rest, zero), number_like(x, math.nan), cotangent)
    return _narrowed(w, b.select(is_negative, b.fsub(value, cotangent), value), a)


def _near_zero(w: Writer, y: ir.Value) -> ir.Value:
    """Emit digamma of a number from 0 to 3."""
    b, zero, one = w.builder, number_like(y, 0), number_like(y, 1)
    is_below, is_above = b.fcmp_ordered("<", y, one), b.fcmp_ordered(">=", y, number_like(y, 2))
    moved = b.select(is_below, b.fadd(y, one), b.select(is_above, b.fsub(y, one), y))
    distance = b.fsub(b.fsub(moved, number_like(y, _ZERO)), number_like(y, _ZERO_REST))
    value = b.fmul(distance, _polynomial(w, b.fsub(moved, number_like(y, 1.5)), _NEAR_ZERO))
    reciprocal = b.fdiv(one, b.select(is_below, b.fneg(y), moved))
    return b.fadd(value, b.select(b.or_(is_below, is_above), reciprocal, zero))


def _above(w: Writer, y: ir.Value) -> ir.Value:
    """Emit digamma of a number from 3 on."""
    b, one = w.builder, number_like(y, 1)
    numerator, denominator = one, y  # of the sum of 1 / (y + k)
    for k in range(1, _RECIPROCALS):
        factor = b.fadd(y, number_like(y, k))
        numerator = b.fadd(b.fmul(numerator, factor), denominator)
        denominator = b.fmul(denominator, factor)
    is_moved = b.fcmp_ordered("<", y, number_like(y, _SERIES_FROM))
    taken = b.select(is_moved, b.fdiv(numerator, denominator), number_like(y, 0))
    moved = b.select(is_moved, b.fadd(y, number_like(y, _RECIPROCALS)), y)
    reciprocal = b.fdiv(one, moved)
    series = _polynomial(w, b.fmul(reciprocal, reciprocal), _SERIES)
    small = b.fsub(series, b.fmul(reciprocal, number_like(y, 0.5)))
    return b.fsub(b.fadd(w.math("log", moved), small), taken)


def _polynomial(w: Writer, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    total: ir.Value = number_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = w.builder.fadd(w.builder.fmul(total, x), number_like(x, coefficient))
    return total


def _widened(w: Writer, a: ir.Value) -> ir.Value:
    double: Any = ir.DoubleType()
    if isinstance(a.type, ir.VectorType):
        double = ir.VectorType(double, a.type.count)
    return a if a.type == double else w.builder.fpext(a, double)


def _narrowed(w: Writer, value: ir.Value, like: ir.Value) -> ir.Value:
    return value if value.type == like.type else w.builder.fptrunc(value, like.type)
