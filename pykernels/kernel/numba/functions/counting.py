"""Add up what meets at an index: the `at` method of universal functions, and counts of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.functions.indexing import combining
from pykernels.kernel.numba.implementing import compiled, implements, implements_of_ufuncs, is_array, is_integer


@implements_of_ufuncs("at")
def _at(ufunc: Any, a: Any, indices: Any, b: Any) -> Any:
    is_number = isinstance(b, (bool, int, float, nb.Integer, nb.Float, nb.Boolean))
    is_written = is_array(a) and a.ndim > 0 and a.mutable and isinstance(indices, nb.Type)
    if (ufunc.nin, ufunc.nout) != (2, 1) or not is_written or not (is_number or is_array(b)):
        return None
    dtype = as_dtype(a.dtype)
    other = b.dtype if is_array(b) else np.result_type(dtype, b) if not isinstance(b, nb.Type) else None
    # Python's numbers have the dtype of the array, as far as its kind allows.
    with_type = as_dtype(other) if isinstance(other, nb.Type) else other if other is not None else as_dtype(b)
    result = ufunc(np.ones(1, dtype), np.ones(1, dtype if is_number and with_type.kind == dtype.kind else with_type))
    if not np.can_cast(result.dtype, dtype, "same_kind"):
        return None
    common = np.result_type(dtype, *(() if is_number else (with_type,)))
    convert, in_type = dtype.type, common.type

    @compiled
    def apply(old: Any, value: Any) -> Any:
        return convert(ufunc(in_type(old), value))

    combine = combining(a, indices, b, common, apply)
    if combine is None:
        return None
    combined = compiled(combine)
    return lambda a, indices, b: combined(a, indices, b)


@implements(np.bincount, is_alone=True)
def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    is_counted = is_array(x) and x.ndim == 1 and isinstance(x.dtype, nb.Integer) and x.dtype != nb.uint64
    is_weighted = is_array(weights) and weights.ndim == 1
    if not is_counted or not is_integer(minlength) or not (weights is None or is_weighted):
        return None

    @compiled
    def length_of(x: Any, minlength: Any) -> Any:
        if minlength < 0:
            raise ValueError("'minlength' must not be negative")
        least, length = np.intp(0), np.intp(minlength)
        for number in x:
            least, length = min(least, np.intp(number)), max(length, np.intp(number) + 1)
        if least < 0:
            raise ValueError("'list' argument must have no negative elements")
        return length

    def count(x: Any, minlength: Any) -> Any:
        made = np.zeros(length_of(x, minlength), np.intp)
        for number in x:
            made[number] += 1
        return made

    def weigh(x: Any, weights: Any, minlength: Any) -> Any:
        if weights.size != x.size:
            raise ValueError("The weights and list don't have the same length.")
        made = np.zeros(length_of(x, minlength), np.float64)
        for i in range(x.size):
            made[x[i]] += weights[i]
        return made

    return weigh if is_weighted else count
