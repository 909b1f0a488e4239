"""Add up what meets at an index: the `at` method of universal functions, and counts of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.arrays.gathering import checked
from pykernels.kernel.numba.functions.along import around
from pykernels.kernel.numba.functions.views import broadcast
from pykernels.kernel.numba.implementing import compiled, implements, implements_of_ufuncs, is_array, is_integer


@implements_of_ufuncs("at")
def _at(ufunc: Any, a: Any, indices: Any, b: Any) -> Any:
    is_index = is_array(indices) and indices.ndim > 0 and isinstance(indices.dtype, nb.Integer)
    is_number = isinstance(b, (bool, int, float, nb.Integer, nb.Float, nb.Boolean))
    if (ufunc.nin, ufunc.nout) != (2, 1) or not is_index or not (is_number or is_array(b)):
        return None
    # The array must be changed itself, so it must be possible to view it as rows.
    if not is_array(a) or a.ndim == 0 or a.layout != "C" or not a.mutable:
        return None
    dtype, ndim = as_dtype(a.dtype), indices.ndim + a.ndim - 1
    other = b.dtype if is_array(b) else np.result_type(dtype, b) if not isinstance(b, nb.Type) else None
    # Python's numbers have the dtype of the array, as far as its kind allows.
    with_type = as_dtype(other) if isinstance(other, nb.Type) else other if other is not None else as_dtype(b)
    result = ufunc(np.ones(1, dtype), np.ones(1, dtype if is_number and with_type.kind == dtype.kind else with_type))
    if not np.can_cast(result.dtype, dtype, "same_kind") or (is_array(b) and b.ndim > ndim):
        return None
    convert, in_type = dtype.type, np.result_type(dtype, *(() if is_number else (with_type,))).type

    @compiled
    def apply(old: Any, value: Any) -> Any:
        return convert(ufunc(in_type(old), in_type(value)))

    if is_number:

        def at_number(a: Any, indices: Any, b: Any) -> None:
            picked, inner = checked(np.ravel(indices), a.shape[0]), around(a.shape, 0)[1]
            rows = a.reshape(a.size)
            for place in picked:
                for k in range(place * inner, (place + 1) * inner):
                    rows[k] = apply(rows[k], b)

        return at_number

    def at_array(a: Any, indices: Any, b: Any) -> None:
        picked, inner = checked(np.ravel(indices), a.shape[0]), around(a.shape, 0)[1]
        values = np.ravel(broadcast(b, indices.shape + a.shape[1:]))
        rows, at = a.reshape(a.size), 0
        for place in picked:
            for k in range(place * inner, (place + 1) * inner):
                rows[k] = apply(rows[k], values[at])
                at += 1

    return at_array


@implements(np.bincount)
def _bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    is_counted = is_array(x) and x.ndim == 1 and isinstance(x.dtype, nb.Integer) and x.dtype != nb.uint64
    is_weighted = is_array(weights) and weights.ndim == 1
    if not is_counted or not is_integer(minlength) or not (weights is None or is_weighted):
        return None

    @compiled
    def length_of(x: Any, minlength: Any) -> Any:
        if minlength < 0:
            raise ValueError("'minlength' must not be negative")
        length = minlength
        for number in x:
            if number < 0:
                raise ValueError("'list' argument must have no negative elements")
            length = max(length, np.intp(number) + 1)
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
