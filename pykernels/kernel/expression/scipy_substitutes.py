"""SciPy functions written in terms of NumPy's, as `substitutes` has NumPy's own."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

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


@functools.cache
def table() -> dict[Any, Callable[..., Any]]:
    """Return the substitute of every function; `scipy.special` must be imported."""
    substitutes: dict[str, Callable[..., Any]] = {
        "log_softmax": _log_softmax,
        "logsumexp": _logsumexp,
        "softmax": _softmax,
    }
    special = sys.modules["scipy.special"]
    return {getattr(special, name): substitute for name, substitute in substitutes.items()}
