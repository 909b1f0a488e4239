"""Compute with the rounding errors of a narrower dtype, to measure how far they move the results of a function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# Operations whose results are exact.
_EXACT = {np.maximum, np.minimum, np.fmax, np.fmin, np.negative, np.positive, np.absolute, np.sign, np.copysign}
# Functions that add products, and are not universal functions.
_PRODUCTS = {np.dot, np.vdot, np.inner, np.tensordot, np.einsum, np.convolve, np.correlate}


def inexact(array: np.ndarray, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Return the same numbers with random errors of `dtype`, which every operation on the returned array has as well.

    A sum or product that overflows `dtype`, or underflows it, in some order of its operands is NaN.
    """
    if dtype.kind not in "fc":
        return array
    found = array.view(_Inexact)
    found.real_, found.rng_ = np.finfo(dtype), rng
    return np.asanyarray(found.like(found.moved(found)))


def spread(exact: Sequence[np.ndarray], runs: Iterable[Sequence[np.ndarray] | None]) -> list[np.ndarray]:
    """Return how far each number of `exact` is from those of runs with rounding errors, at most."""
    found = [np.zeros(result.shape) for result in exact]
    with np.errstate(all="ignore"):
        for run in runs:
            for total, result, moved in zip(found, exact, run or ()):
                if moved.shape == result.shape and result.dtype.kind in "fc":
                    away = np.where(np.isnan(moved) & ~np.isnan(result), np.inf, np.abs(moved - result))
                    np.fmax(total, away.astype(np.float64), out=total)
    return found


class _Inexact(np.ndarray):
    """An array whose operations have the errors of a narrower dtype."""

    real_: Any = None
    rng_: Any = None

    def __array_finalize__(self, other: Any) -> None:
        self.real_, self.rng_ = getattr(other, "real_", None), getattr(other, "rng_", None)

    def __getitem__(self, key: Any) -> Any:
        """Return elements; a single number is an array, too, since operations of it have errors."""
        found = super().__getitem__(key)
        return self.like(found) if isinstance(found, np.inexact) else found

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        source = next((each for each in (*inputs, *out) if isinstance(each, _Inexact) and each.rng_ is not None), self)
        return source.called(ufunc, method, inputs, out, options)

    def called(self, ufunc: np.ufunc, method: str, inputs: Sequence[Any], out: Any, options: dict[str, Any]) -> Any:
        """Return the result of a universal function, with the errors of its operations."""
        given = list(map(_plain, inputs))
        is_sum = ufunc is np.add and method != "__call__"
        for at in (0,) if is_sum else (0, 1) if ufunc is np.matmul else ():
            given[at] = self.moved(np.asarray(given[at]))
        result = getattr(ufunc, method)(*given, **options)
        if not isinstance(result, (np.ndarray, np.generic)):
            return tuple(map(self.like, result)) if isinstance(result, tuple) else result
        found: Any = np.asarray(result)
        if is_sum and method == "reduce" and found.dtype.kind in "fc":
            found = np.where(np.add.reduce(np.abs(given[0]), **options) > self.real_.max, np.nan, found)
        elif ufunc is np.multiply and method == "reduce" and found.dtype.kind in "fc":
            sizes = np.abs(given[0])
            largest = np.multiply.reduce(np.maximum(sizes, 1), **options)
            least = np.multiply.reduce(np.where(sizes > 0, np.minimum(sizes, 1), 1), **options)
            found = np.where((largest > self.real_.max) | (least < self.real_.tiny), np.nan, self.moved(found))
        elif ufunc is np.matmul:
            found = np.where(np.matmul(*map(np.abs, given)) > self.real_.max, np.nan, found)
        elif ufunc not in _EXACT:
            found = self.moved(found)
        if out:
            np.asarray(out[0])[...] = found
            return out[0]
        return self.like(found)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in _PRODUCTS:
            args = tuple(each.like(each.moved(each)) if isinstance(each, _Inexact) else each for each in args)
        result = super().__array_function__(function, types, args, kwargs)
        if function is np.dot:
            size = np.dot(*(np.abs(_plain(each)) for each in args))
            result = np.where(size > self.real_.max, np.nan, result)
        return type(result)(map(self.like, result)) if type(result) in (tuple, list) else self.like(result)

    def moved(self, array: Any) -> Any:
        """Return numbers that differ from those of `array` in the last digits of the narrower dtype."""
        if array.dtype.kind not in "fc":
            return _plain(array)
        errors = self.real_.eps * self.rng_.uniform(-1, 1, array.shape)
        if array.dtype.kind == "c":
            # The error of either part may be as large as the other part.
            errors = errors + 1j * self.real_.eps * self.rng_.uniform(-1, 1, array.shape)
        return _plain(array) * (1 + errors.astype(array.dtype))

    def like(self, result: Any) -> Any:
        """Return an array of this kind for the result of an operation on arrays of this kind."""
        if not isinstance(result, (np.ndarray, np.generic)):
            return result
        found = np.asarray(result).view(_Inexact)
        found.real_, found.rng_ = self.real_, self.rng_
        return found


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, _Inexact) else value
