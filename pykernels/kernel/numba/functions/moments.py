"""Means, variances and standard deviations, also of the elements that are not NaN, and weighted means."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors

from pykernels.kernel.numba.functions.reducing import COUNTS, Call, fold_by, result_dtype
from pykernels.kernel.numba.implementing import compiled, implements, is_array, require_known


def _dtype_of_mean(a: nb.Array, dtype: Any) -> np.dtype:
    made = result_dtype(np.add, a, dtype if dtype is not None or a.dtype in nb.real_domain else np.float64)
    if made.kind != "f":
        raise errors.TypingError(f"a mean of {made}")
    return made


def _moment(
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
        return is_array(a) and _moment(a, axis, dtype, out, keepdims, where, skips_nan=skips_nan)


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
        return is_array(a) and _moment(a, axis, dtype, out, keepdims, where, ddof, is_root=is_root, skips_nan=skips_nan)


_define_mean(np.mean, method="mean")
_define_mean(np.nanmean, skips_nan=True)
_define_variance(np.var, method="var")
_define_variance(np.std, method="std", is_root=True)
_define_variance(np.nanvar, skips_nan=True)
_define_variance(np.nanstd, is_root=True, skips_nan=True)
