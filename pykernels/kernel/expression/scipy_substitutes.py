"""SciPy functions written in terms of NumPy's, as `substitutes` has NumPy's own.

Import this module only if the kernel imports SciPy, which takes long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

# Arrays, or the nodes that stand for these.
_Value = Any


def _softmax(x: _Value, axis: _Value = None) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def _log_softmax(x: _Value, axis: _Value = None) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    largest = np.max(x, axis=axis, keepdims=True)
    shifted = x - np.where(np.isfinite(largest), largest, x.dtype.type(0))
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _logsumexp(
    a: _Value, axis: _Value = None, b: _Value = None, keepdims: bool = False, return_sign: bool = False
) -> _Value:
    if a.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    if return_sign:
        raise NotImplementedError
    if b is not None:
        a = np.where(b == 0, a.dtype.type(-np.inf), a)
        largest, added = np.max(a, axis=axis, keepdims=True), np.max(a, axis=axis, keepdims=keepdims)
        shift = np.where(np.isfinite(largest), largest, a.dtype.type(0))
        added = np.where(np.isfinite(added), added, a.dtype.type(0))
        return np.log(np.sum(b * np.exp(a - shift), axis=axis, keepdims=keepdims)) + added
    largest = np.max(a, axis=axis, keepdims=True)
    is_largest = a == largest
    # The largest elements are counted, so that the others keep their digits however small their sum is.
    others = np.sum(np.where(is_largest, a.dtype.type(0), np.exp(a - largest)), axis=axis, keepdims=keepdims)
    count = np.sum(is_largest, axis=axis, keepdims=keepdims, dtype=a.dtype)
    return np.log1p(others / count) + np.log(count) + np.max(a, axis=axis, keepdims=keepdims)


# ---- functions of elements; for other dtypes than these, SciPy computes in a dtype of its own


def _entr(x: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    return np.where(x > 0, -x * np.log(x), np.where(x < 0, x.dtype.type(-np.inf), x * x.dtype.type(0)))


def _huber(delta: _Value, r: _Value) -> _Value:
    if r.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    size = np.abs(r)
    inside = np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return np.where(delta < 0, r.dtype.type(np.inf), inside)


def _kl_div(x: _Value, y: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    other = np.where((x == 0) & (y >= 0), y, np.where(np.isnan(x + y), x + y, x.dtype.type(np.inf)))
    return np.where((x > 0) & (y > 0), x * np.log(x / y) - x + y, other)


def _log_expit(x: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    return -np.logaddexp(x.dtype.type(0), -x)


def _ndtr(x: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    return 0.5 * special.erfc(x * -0.7071067811865476)


def _pseudo_huber(delta: _Value, r: _Value) -> _Value:
    if r.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    v = r / delta
    inside = delta * delta * np.expm1(0.5 * np.log1p(v * v))
    inside = np.where((delta == 0) | (r == 0), r.dtype.type(0), inside)
    return np.where(delta < 0, r.dtype.type(np.inf), inside)


def _rel_entr(x: _Value, y: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    other = np.where(np.isnan(x + y), x + y, x.dtype.type(np.inf))
    other = np.where((x == 0) & (y >= 0), x.dtype.type(0), other)
    return np.where((x > 0) & (y > 0), x * np.log(x / y), other)


def _softplus(x: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    return np.logaddexp(x.dtype.type(0), x)


def _xlog1py(x: _Value, y: _Value) -> _Value:
    if x.dtype not in (np.float32, np.float64):
        raise NotImplementedError
    return np.where((x == 0) & ~np.isnan(y), x.dtype.type(0), x * np.log1p(y))


_BY_NAME: dict[str, Callable[..., Any]] = {
    "entr": _entr,
    "huber": _huber,
    "kl_div": _kl_div,
    "log_expit": _log_expit,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "ndtr": _ndtr,
    "pseudo_huber": _pseudo_huber,
    "rel_entr": _rel_entr,
    "softmax": _softmax,
    "softplus": _softplus,
    "xlog1py": _xlog1py,
}
#: The substitute of every function; older versions of SciPy lack some.
TABLE = {getattr(special, name): found for name, found in _BY_NAME.items() if hasattr(special, name)}
