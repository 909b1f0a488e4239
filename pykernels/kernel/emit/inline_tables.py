"""Functions of float32 as inline instructions with AVX-512 table lookups: two registers hold 32 numbers.

A function is split into 32 pieces, so that a polynomial of low degree is enough for each. This module computes the
tables and the polynomials by interpolation in float64 at Chebyshev nodes, which comes close to the least possible
error. Special values cost few instructions: the exponents and mantissas that `getexp` and `getmant` return for 0,
infinity, NaN and negative numbers make the logarithm come out right by itself, and `scalef` rounds once where results
are denormal.

The multiplier limits the speed, so additions are preferred where there is a choice. The largest errors, in units in the
last place, are 1.74 for exp, 1.75 for log, 1.84 for log1p, 2.88 for tanh and 2.27 for erf.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.instructions import Instructions, bits, constant, fma, greatest, integer, least, polynomial

_PIECES = 32  # the number of entries that one lookup selects from
_INDEX_SHIFT = 23 - 5  # shifts the highest five bits of a mantissa down
# The last bit of this number is worth 1: adding it rounds a number to an integer, which the low bits then hold.
_ROUNDER = 1.5 * 2**23
# ln 2 in two parts. The first ends in zero bits, so that its product with n in `_exp` is exact.
_LN2_HIGH, _LN2_LOW = 0.693359375, math.log(2) - 0.693359375
# The mode of getmant: mantissas between 3/4 and 3/2; NaN for negative numbers.
_CENTRED_MANTISSA = 0b1011
_ERF_STEP = 1 / 8  # the distance between the centres of the pieces


def _exp(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit ``2**n * exp(r)`` with `n` in steps of 1/32; below the limit the result is 0 anyway.

    Above the limit, too, `n` alone decides: `r` may be anything, but the polynomial is positive everywhere, and for NaN
    with an infinite `n`, `scalef` returns infinity.
    """
    b = w.builder
    x = greatest(w, constant(x, -104), x)
    rounder = constant(x, _ROUNDER / _PIECES)
    rounded = fma(w, x, constant(x, 1 / math.log(2)), rounder)
    n = b.fsub(rounded, rounder)
    r = fma(w, n, constant(x, -_LN2_LOW), fma(w, n, constant(x, -_LN2_HIGH), x))
    power = w.lookup([2 ** (j / _PIECES) for j in range(_PIECES)], bits(w, rounded))
    # The error times r is uniform if the nodes, together with 0, are the zeros of a Chebyshev polynomial.
    limit = math.log(2) / _PIECES / 2 * math.sqrt(3 / 2)
    slope = polynomial(w, r, _fitted(lambda r: math.expm1(r) / r, -limit, limit, 1))
    return w.avx512("scalef", fma(w, b.fmul(power, r), slope, power), n)  # scalef takes the floor of n


def _log(w: Instructions, x: ir.Value) -> ir.Value:
    mantissa = w.avx512("getmant", x, immediate=_CENTRED_MANTISSA)
    r, _, base = _log_parts(w, x, mantissa, bits(w, mantissa))
    return _log_sum(w, base, r)


def _log1p(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit the logarithm of ``u = 1 + x``; the rounding error of `u`, divided by `u`, is added to `r`."""
    if w.is_fraction(x):
        return _log1p_of_fraction(w, x)
    b, one = w.builder, constant(x, 1)
    u = b.fadd(x, one)
    mantissa = w.avx512("getmant", u, immediate=_CENTRED_MANTISSA)
    r, reciprocal, base = _log_parts(w, u, mantissa, bits(w, u))
    lost = b.fsub(x, b.fsub(u, one))
    # u and `mantissa` have the same mantissa bits, so the difference of their bits is that of their exponents.
    scale = b.bitcast(b.add(bits(w, reciprocal), b.sub(bits(w, mantissa), bits(w, u))), x.type)
    # NaN, which infinity leads to, becomes a negligible number.
    correction = least(w, b.fmul(lost, scale), constant(x, 2.0**-20))
    return w.intrinsic("copysign", _log_sum(w, base, b.fadd(r, correction)), x)


def _log1p_of_fraction(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit ``log1p(c) + log1p(r)`` for `x` between 0 and 1, with the nearest `c` and ``r = (x - c) / (1 + c)``."""
    step = 1 / 16
    index, distance = _nearest(w, x, x, step)
    centres = [k * step for k in range(_PIECES)]
    r = w.builder.fmul(distance, w.lookup([1 / (1 + c) for c in centres], index))
    return _log_sum(w, w.lookup([math.log1p(c) for c in centres], index), r)


def _log_parts(
    w: Instructions, x: ir.Value, mantissa: ir.Value, mantissa_bits: ir.Value
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return ``r = mantissa * c - 1``, `c` and ``n * ln(2) - log(c)`` for ``x = 2**n * mantissa``."""
    b = w.builder
    reciprocals, logarithms = _log_tables()
    index = b.lshr(mantissa_bits, integer(x, _INDEX_SHIFT))
    reciprocal = w.lookup(reciprocals, index)
    r = fma(w, mantissa, reciprocal, constant(x, -1))
    base = fma(w, w.avx512("getexp", x), constant(x, math.log(2)), w.lookup(logarithms, index))
    return r, reciprocal, base


def _log_sum(w: Instructions, base: ir.Value, r: ir.Value) -> ir.Value:
    """Emit ``base + log1p(r)`` for `r` between -1/34 and 1/32."""
    curve = polynomial(w, r, _fitted(lambda r: (math.log1p(r) - r) / r**2, -1 / 34, 1 / 32, 2))
    return fma(w, fma(w, curve, r, constant(r, 1)), r, base)


@functools.lru_cache(maxsize=1)
def _log_tables() -> tuple[list[float], list[float]]:
    """Return tables by the highest bits of a mantissa: a number `c` near its reciprocal, and ``-log(c)``.

    The upper half belongs to mantissas between 3/4 and 1; their exponent is counted one too low, so ln(2) is added.
    Where the mantissa is near 1, `c` is 1, so that small logarithms keep their digits.
    """
    ln2 = float(np.float32(math.log(2)))
    reciprocals, logarithms = [], []
    for j in range(_PIECES):
        is_upper = j >= _PIECES // 2
        middle = (1 + (j + 0.5) / _PIECES) / (2 if is_upper else 1)
        # Choose the neighbour whose logarithm float32 represents best.
        candidates = np.float32(1 / middle) + np.arange(-500, 501, dtype=np.float32) * np.float32(2**-20)
        if j in (0, _PIECES - 1):
            candidates = np.ones(1, np.float32)
        exact = (ln2 if is_upper else 0) - np.log(candidates.astype(np.float64))
        best = np.argmin(np.abs(exact - exact.astype(np.float32)))
        reciprocals.append(float(candidates[best]))
        logarithms.append(float(exact[best]))
    return reciprocals, logarithms


def _tanh(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit ``tanh(c + d)`` by the addition theorem, with the nearest `c`; beyond the last `c`, `d` hardly matters."""
    b, step = w.builder, 1 / 4
    size = w.intrinsic("fabs", x)
    bounded = least(w, constant(x, 8.9), size)
    index, d = _nearest(w, bounded, least(w, constant(x, (_PIECES - 1) * step), size), step)
    square = b.fmul(d, d)
    curve = _fitted(lambda u: (math.tanh(math.sqrt(u)) / math.sqrt(u) - 1) / u, 0, (step / 2) ** 2, 1)
    rest = fma(w, b.fmul(d, square), polynomial(w, square, curve), d)
    centre = w.lookup([math.tanh(k * step) for k in range(_PIECES)], index)
    result = b.fdiv(b.fadd(centre, rest), fma(w, centre, rest, constant(x, 1)))
    return w.intrinsic("copysign", result, x)


def _erf(w: Instructions, x: ir.Value) -> ir.Value:
    """Emit a polynomial around the nearest multiple of a step; beyond the limit the result is 1."""
    size = least(w, constant(x, 3.93), w.intrinsic("fabs", x))
    index, d = _nearest(w, size, size, _ERF_STEP)
    highest, *others = _erf_tables()
    total = w.lookup(highest, index)
    for table in others:
        total = fma(w, total, d, w.lookup(table, index))
    return w.intrinsic("copysign", total, x)


@functools.lru_cache(maxsize=1)
def _erf_tables() -> list[tuple[float, ...]]:
    """Return the coefficients of all pieces for each power, from the highest to the lowest."""
    degree, half = 4, _ERF_STEP / 2
    # Near 0 the relative error counts.
    pieces = [[*_fitted(lambda d: math.erf(d) / d, 0, half, degree - 1), 0.0]]
    for k in range(1, _PIECES):
        centre = k * _ERF_STEP
        pieces.append(_fitted(lambda d, centre=centre: math.erf(centre + d), -half, half, degree))  # type: ignore[misc]
    return list(zip(*pieces))


def _nearest(w: Instructions, x: ir.Value, bounded: ir.Value, step: float) -> tuple[ir.Value, ir.Value]:
    """Return the nearest multiple of `step` to `bounded`, in the lowest bits, and the distance of `x` from it."""
    b, rounder = w.builder, constant(x, _ROUNDER * step)
    rounded = b.fadd(bounded, rounder)
    return bits(w, rounded), b.fsub(x, b.fsub(rounded, rounder))


def _fitted(function: Callable[[float], float], low: float, high: float, degree: int) -> list[float]:
    """Fit a polynomial to a function; return its coefficients from the highest power to the lowest."""
    angles = math.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
    nodes = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    coefficients = np.linalg.solve(np.vander(nodes), [function(float(x)) for x in nodes])
    return [float(c) for c in coefficients]


#: The emitters by C name: ``(writer, vector of float32) -> vector``, for whole registers of AVX-512.
INLINE: Mapping[str, Callable[[Instructions, ir.Value], ir.Value]] = {
    "exp": _exp,
    "log": _log,
    "log1p": _log1p,
    "tanh": _tanh,
    "erf": _erf,
}
