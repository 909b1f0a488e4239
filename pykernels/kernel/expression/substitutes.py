"""NumPy functions written in terms of others, which elementwise and fused kernels support.

The evaluator evaluates their bodies as if they were the kernel's. If one raises, or its parameters do not fit the call,
the kernel gets another form. The values are NumPy's except for the rounding of sums.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pykernels.kernel.expression.operations import look_up

# Arrays and their numbers, or the nodes that stand for these.
_Value = Any


def _allclose(a: _Value, b: _Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> _Value:
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


def _angle(z: _Value, deg: bool = False) -> _Value:
    angle = np.arctan2(np.imag(z), np.real(z))
    return angle * (180 / np.pi) if deg else angle


def _count_nonzero(a: _Value, axis: _Value = None, *, keepdims: bool = False) -> _Value:
    if axis is None:
        if keepdims:
            raise NotImplementedError
        return int(np.sum(a != 0))
    return np.sum(a != 0, axis=axis, keepdims=keepdims)


def _diff(a: _Value, n: int = 1, axis: int = -1) -> _Value:
    if n != 1:
        raise NotImplementedError
    if a.dtype == np.bool_:
        raise NotImplementedError
    if axis in (-1, a.ndim - 1):
        return a[..., 1:] - a[..., :-1]
    if axis == 0:
        return a[1:] - a[:-1]
    raise NotImplementedError


def _ediff1d(ary: _Value) -> _Value:
    if ary.ndim != 1:
        raise NotImplementedError
    return np.diff(ary)


def _gradient(f: _Value, distance: float = 1.0, axis: int | None = None, edge_order: int = 1) -> _Value:
    if edge_order != 1 or not isinstance(distance, (int, float)):
        raise NotImplementedError
    if axis is None and f.ndim != 1:
        raise NotImplementedError
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    if f.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    at = -1 if axis is None else axis
    f = np.moveaxis(f, at, -1)
    first, last = (f[..., 1:2] - f[..., :1]) / distance, (f[..., -1:] - f[..., -2:-1]) / distance
    inner = (f[..., 2:] - f[..., :-2]) / (2.0 * distance)
    return np.moveaxis(np.concatenate((first, inner, last), axis=-1), -1, at)


def _isclose(a: _Value, b: _Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> _Value:
    if np.float16 in (a.dtype, b.dtype):
        raise NotImplementedError
    if b.dtype.kind != "f":
        b = b.astype(np.float64)
    close = np.abs(a - b) <= atol + rtol * np.abs(b)
    found = np.where(np.isfinite(a) & np.isfinite(b), close, a == b)
    if equal_nan:
        return found | (np.isnan(a) & np.isnan(b))
    return found


def _nanmax(a: _Value, axis: _Value = None, out: None = None, keepdims: bool = False) -> _Value:
    if out is not None:
        raise NotImplementedError
    if a.dtype.kind != "f":
        return np.max(a, axis=axis, keepdims=keepdims)
    is_nan = np.isnan(a)
    found = np.max(np.where(is_nan, a.dtype.type(-np.inf), a), axis=axis, keepdims=keepdims)
    return np.where(np.all(is_nan, axis=axis, keepdims=keepdims), a.dtype.type(np.nan), found)


def _nanmin(a: _Value, axis: _Value = None, out: None = None, keepdims: bool = False) -> _Value:
    if out is not None:
        raise NotImplementedError
    if a.dtype.kind != "f":
        return np.min(a, axis=axis, keepdims=keepdims)
    is_nan = np.isnan(a)
    found = np.min(np.where(is_nan, a.dtype.type(np.inf), a), axis=axis, keepdims=keepdims)
    return np.where(np.all(is_nan, axis=axis, keepdims=keepdims), a.dtype.type(np.nan), found)


def _nansum(a: _Value, axis: _Value = None, dtype: None = None, out: None = None, keepdims: bool = False) -> _Value:
    if dtype is not None:
        raise NotImplementedError
    if out is not None:
        raise NotImplementedError
    if a.dtype.kind != "f":
        return np.sum(a, axis=axis, keepdims=keepdims)
    return np.sum(np.where(np.isnan(a), a.dtype.type(0), a), axis=axis, keepdims=keepdims)


def _nanmean(a: _Value, axis: _Value = None, dtype: None = None, out: None = None, keepdims: bool = False) -> _Value:
    if a.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    total = np.nansum(a, axis, dtype, out, keepdims)
    return total / np.sum(np.isnan(a) == 0, axis=axis, dtype=a.dtype, keepdims=keepdims)


def _norm(x: _Value, ord: float | None = None, axis: _Value = None, keepdims: bool = False) -> _Value:
    if x.dtype == np.float16:
        raise NotImplementedError
    if x.dtype.kind != "f":
        x = x.astype(np.float64)
    if ord is None:
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if not isinstance(axis, int):
        raise NotImplementedError
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 2:
        return np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    raise NotImplementedError


def _ptp(a: _Value, axis: _Value = None, out: None = None, keepdims: bool = False) -> _Value:
    if out is not None:
        raise NotImplementedError
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def _round(a: _Value, decimals: int = 0) -> _Value:
    if a.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    if decimals == 0:
        return np.rint(a)
    if decimals < 0:
        return np.rint(a / 10.0**-decimals) * 10.0**-decimals
    return np.rint(a * 10.0**decimals) / 10.0**decimals


def _sinc(x: _Value) -> _Value:
    if x.dtype == np.float16:
        raise NotImplementedError
    y = np.pi * np.where(x == 0, 1.0e-20, x)
    return np.sin(y) / y


def _trapezoid(y: _Value, x: _Value = None, dx: float = 1.0, axis: int = -1) -> _Value:
    y = np.moveaxis(y, axis, -1)
    if x is None:
        distances = dx
    else:
        x = x if x.ndim == 1 else np.moveaxis(x, axis, -1)
        distances = x[..., 1:] - x[..., :-1]
    return np.sum(distances * (y[..., 1:] + y[..., :-1]) / 2.0, axis=-1)


def _tril(m: _Value, k: int = 0) -> _Value:
    rows, columns = np.arange(m.shape[-2]), np.arange(m.shape[-1])
    return np.where(columns <= rows[:, None] + k, m, m.dtype.type(0))


def _triu(m: _Value, k: int = 0) -> _Value:
    rows, columns = np.arange(m.shape[-2]), np.arange(m.shape[-1])
    return np.where(columns >= rows[:, None] + k, m, m.dtype.type(0))


_SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    np.allclose: _allclose,
    np.angle: _angle,
    np.count_nonzero: _count_nonzero,
    np.diff: _diff,
    np.ediff1d: _ediff1d,
    np.isclose: _isclose,
    np.gradient: _gradient,
    np.linalg.norm: _norm,
    np.nanmax: _nanmax,
    np.nanmean: _nanmean,
    np.nanmin: _nanmin,
    np.nansum: _nansum,
    np.ptp: _ptp,
    np.sinc: _sinc,
    getattr(np, "trapezoid", getattr(np, "trapz", None)): _trapezoid,
    np.tril: _tril,
    np.triu: _triu,
}
# Without decimals, `round` is an elementwise function.
_WITH_MORE: Mapping[Any, Callable[..., Any]] = {np.round: _round, np.around: _round}
#: The functions that are also methods of arrays.
METHODS: Mapping[str, Callable[..., Any]] = {"ptp": _ptp, "round": _round}


def find(function: Any, arguments: int) -> Callable[..., Any] | None:
    """Return the substitute for a function of NumPy or SciPy that is called with so many arguments, or None."""
    found = look_up(table(), function)
    return look_up(_WITH_MORE, function) if found is None and arguments > 1 else found


def table() -> Mapping[Any, Callable[..., Any]]:
    """Return the substitutes of functions, whatever their arguments; a kernel that uses SciPy has imported it."""
    if "scipy.special" not in sys.modules:
        return _SUBSTITUTES
    from pykernels.kernel.expression import scipy_substitutes

    return _SUBSTITUTES | scipy_substitutes.TABLE
