"""Means, variances, standard deviations, also of the elements that are not NaN, weighted means, and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.functions.reducing import COUNTS, Call, fold_by, result_dtype
from pykernels.kernel.numba.functions.views import NEW, arranged
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer, require_known
from pykernels.kernel.numba.parts.single_calls import along_known_axes


def _dtype_of_mean(a: nb.Array, dtype: Any) -> np.dtype:
    made = result_dtype(np.add, a, dtype if dtype is not None or a.dtype in nb.real_domain else np.float64)
    if made.kind != "f":
        raise errors.TypingError(f"a mean of {made}")
    return made


def _moment(
    function: Any,
    a: nb.Array,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    where: Any,
    ddof: Any = None,
    *,
    is_root: bool = False,
    skips_nan: bool = False,
) -> Any:
    """Return the implementation of a mean, or of a variance, which has the parameter `ddof`."""
    require_known(ddof, "the divisor")
    call, made = Call(a, axis, keepdims, where, out), _dtype_of_mean(a, dtype)
    options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "ddof": ddof}
    if fused := along_known_axes(function, {"a": a, **options}, out, where):
        return fused
    kind, counts = made.type, COUNTS.get((call.is_masked, skips_nan))
    has_counts, is_variance = counts is not None, ddof is not None
    removed = 0 if ddof is None else ddof

    def mean_of(total: Any, n: Any, count: Any) -> Any:
        return kind(total / (count if has_counts else n))

    def spread_of(total: Any, n: Any, count: Any) -> Any:
        divisor = (count if has_counts else n) - removed
        if divisor <= 0:
            # NumPy's variance divides by 0, and its `nanvar` gives NaN.
            return kind(np.nan) if skips_nan else kind(total / kind(0))
        number = kind(total / divisor)
        return kind(np.sqrt(number)) if is_root else number

    def square_of(x: Any, other: Any, center: Any) -> Any:
        return (kind(x) - center) * (kind(x) - center)

    mean = fold_by(np.add, made, finish=mean_of, counts=counts)
    spread = fold_by(np.add, made, square_of, spread_of, counts)
    count = fold_by(np.add, np.dtype(np.intp), lambda x, other, center: 1, counts=counts)
    zero = kind(0)

    @compiled
    def compute(x: Any, mask: Any, initial: Any, made: Any) -> None:
        if has_counts:
            counts = np.empty(made.shape, np.intp)
            count(x, mask, counts, counts, 0, counts)
        else:
            counts = made
        if is_variance:
            means = np.empty(made.shape, kind)
            mean(x, mask, means, counts, zero, means)
            spread(x, mask, means, counts, zero, made)
        else:
            mean(x, mask, made, counts, zero, made)

    return call.implementation(compute, made)


def _define_mean(function: Any, *, method: str = "", skips_nan: bool = False) -> None:
    @implements(function, method=method)
    def typed(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, where: Any = True
    ) -> Any:
        return is_array(a) and _moment(function, a, axis, dtype, out, keepdims, where, skips_nan=skips_nan)


def _define_variance(function: Any, *, method: str = "", is_root: bool = False, skips_nan: bool = False) -> None:
    @implements(function, method=method)
    def typed(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        where: Any = True,
        correction: Any = None,
    ) -> Any:
        if correction is not None:
            ddof = correction
        return is_array(a) and _moment(
            function, a, axis, dtype, out, keepdims, where, ddof, is_root=is_root, skips_nan=skips_nan
        )


_define_mean(np.mean, method="mean")
_define_mean(np.nanmean, skips_nan=True)
_define_variance(np.var, method="var")
_define_variance(np.std, method="std", is_root=True)
_define_variance(np.nanvar, skips_nan=True)
_define_variance(np.nanstd, is_root=True, skips_nan=True)


@implements(np.average, is_alone=True)
def _average(a: Any, axis: Any = None, weights: Any = None, returned: Any = False, keepdims: Any = False) -> Any:
    if not is_array(a) or returned is not False or keepdims is not False:
        return None
    if weights is None:
        return (lambda a: np.mean(a)) if axis is None else lambda a: np.mean(a, axis)
    if not is_array(weights):
        return None
    is_whole_shape, at = weights.ndim == a.ndim, -1
    if is_whole_shape:
        order = tuple(range(a.ndim))
    elif weights.ndim == 1 and is_integer(axis) and not isinstance(axis, nb.Type) and -a.ndim <= axis < a.ndim:
        at = axis % a.ndim
        order = tuple(0 if place == at else NEW for place in range(a.ndim))
    else:
        return None
    is_whole = not isinstance(a.dtype, nb.Float)
    made = np.result_type(as_dtype(a.dtype), as_dtype(weights.dtype), *([np.float64] if is_whole else []))

    @compiled
    def scaled(a: Any, weights: Any) -> Any:
        by = arranged(weights, order)
        for place in range(a.ndim):
            if by.shape[place] != a.shape[place] and (is_whole_shape or place == at):
                raise ValueError("the weights have another shape")
        return a.astype(made) * by.astype(made), by.astype(made)

    def average_of_all(a: Any, weights: Any) -> Any:
        products, by = scaled(a, weights)
        total = np.sum(by)
        if total == 0:
            raise ZeroDivisionError
        return np.sum(products) / total

    def average(a: Any, weights: Any) -> Any:
        products, by = scaled(a, weights)
        totals = np.sum(by, axis)
        if np.any(totals == 0):
            raise ZeroDivisionError
        return np.sum(products, axis) / totals

    return average_of_all if axis is None else average


@implements(np.cov, is_alone=True)
def _cov(m: Any, y: Any = None, rowvar: Any = True, bias: Any = False, ddof: Any = None) -> Any:
    for each in (rowvar, bias, ddof):
        require_known(each, "an option of a covariance")
    has_more = y is not None
    if not is_array(m) or m.ndim not in (1, 2) or (has_more and (not is_array(y) or y.ndim != m.ndim)):
        return None
    removed = (0 if bias else 1) if ddof is None else ddof
    is_row, at = m.ndim == 1, 0 if m.ndim == 1 or rowvar else 1
    order = (NEW, 0) if is_row else (0, 1)

    @compiled
    def with_variables(x: Any) -> Any:
        return np.ascontiguousarray(arranged(x, order)).astype(np.float64)

    def cov(m: Any, y: Any) -> Any:
        x = with_variables(m)
        if has_more:
            x = np.concatenate((x, with_variables(y)), at)
        elif not is_row and (x.shape[at] == 1 or x.shape[0] == 1):
            # NumPy gives the variance of a single variable no axes, and takes a single row as one.
            raise ValueError("the covariance of a single variable")
        x -= np.mean(x, 1 - at, None, None, True)
        made = np.dot(x.T, x) if at else np.dot(x, x.T)
        made *= 1 / np.float64(max(x.shape[1 - at] - removed, 0))
        if is_row and not has_more:
            return made[0, 0]
        return made

    return cov


@implements(np.corrcoef, is_alone=True)
def _corrcoef(x: Any, y: Any = None, rowvar: Any = True) -> Any:
    require_known(rowvar, "an option of a correlation")
    if not is_array(x) or (x.ndim == 1 and y is None):
        return None

    def corrcoef(x: Any, y: Any) -> Any:
        covariances = np.cov(x, y, rowvar)
        spread = np.sqrt(np.diag(covariances))
        return np.minimum(np.maximum(covariances / arranged(spread, (0, NEW)) / spread, -1.0), 1.0)

    return corrcoef
