"""Search sorted arrays, and find distinct elements."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.functions.ordering import places_finder
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer, require_known


@intrinsic
def _part_if(typing_context: Any, part: nb.Integer, condition: nb.Boolean) -> Any:
    """Return `part` if the condition holds, else 0, without a branch, of whose predictions half would be wrong."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        chosen = builder.select(arguments[1], arguments[0], arguments[0].type(0))
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return part(part, condition), generate


@functools.cache
def _searcher(dtype: np.dtype, is_left: bool) -> Any:
    """Return a function that finds where a number belongs in a sorted vector, both converted to a dtype."""
    convert, infinity = dtype.type, dtype.type(np.inf if dtype.kind == "f" else 0)

    @compiled
    def count(a: Any, wanted: Any, with_equal: Any) -> Any:
        """Return how many elements are less than a number, or equal to it."""
        first, n = 0, a.size
        while n > 0:  # the elements before `first` count, those from `first + n` on do not
            half = (n + 1) // 2
            x = convert(a[np.uintp(first + half - 1)])
            first += _part_if(half, x <= wanted if with_equal else x < wanted)
            n -= half
        return first

    @compiled
    def search(a: Any, number: Any) -> Any:
        wanted = convert(number)
        if wanted == wanted:
            return count(a, wanted, not is_left)
        return count(a, infinity, True) if is_left else a.size  # NaN come last

    return search


def _searching(a: Any, v: Any, is_left: bool) -> Any:
    """Return a function that finds the places of a number, or of each number of an array, in a sorted vector."""
    is_one = isinstance(v, (nb.Integer, nb.Float, nb.Boolean, int, float))
    if not is_array(a) or a.ndim != 1 or not (is_one or is_array(v)):
        return None
    given = as_dtype(v if is_one else v.dtype) if isinstance(v, nb.Type) else np.asarray(v).dtype
    search = _searcher(np.promote_types(as_dtype(a.dtype), given), is_left)
    if is_one:
        return search

    @compiled
    def search_all(a: Any, v: Any) -> Any:
        made = np.empty(v.shape, np.intp)
        places, numbers = made.reshape(made.size), np.ascontiguousarray(v).reshape(v.size)
        for i in range(places.size):
            places[i] = search(a, numbers[i])
        return made

    return search_all


@implements(np.searchsorted, method="searchsorted")
def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        return None
    search = _searching(a, v, side == "left")
    if search is None or sorter is None:
        return search and (lambda a, v: search(a, v))
    if not is_array(sorter) or not is_integer(sorter.dtype) or sorter.ndim != 1:
        return None

    def search_in_order(a: Any, v: Any, sorter: Any) -> Any:
        ordered = np.empty(a.size, a.dtype)
        if sorter.size != a.size:
            raise ValueError("sorter.size must equal keys.size")
        for i in range(a.size):
            at = sorter[i]
            if at < 0 or at >= a.size:
                raise ValueError("Sorter index out of range.")
            ordered[i] = a[at]
        return search(ordered, v)

    return search_in_order


@implements(np.digitize)
def _digitize(x: Any, bins: Any, right: Any = False) -> Any:
    require_known(right, "the side of equal elements")
    search = _searching(bins, x, bool(right))
    if search is None:
        return None

    def digitize(x: Any, bins: Any) -> Any:
        rises, falls = True, True
        for i in range(1, bins.size):
            rises &= bins[i - 1] <= bins[i]
            falls &= bins[i - 1] >= bins[i]
        if rises:
            return search(bins, x)
        if not falls:
            raise ValueError("bins must be monotonically increasing or decreasing")
        return bins.size - search(bins[::-1], x)

    return digitize


@implements(np.unique)
def _unique(
    ar: Any, return_index: Any = False, return_inverse: Any = False, return_counts: Any = False, axis: Any = None
) -> Any:
    wanted = (return_index, return_inverse, return_counts)
    require_known(next((each for each in wanted if isinstance(each, nb.Type)), None), "the number of results")
    if not is_array(ar) or axis is not None:
        return None
    differ = compiled(lambda x, y: x != y and (x == x or y == y))

    def values(ar: Any) -> Any:
        x, n = np.sort(ar, None), 0
        for i in range(x.size):
            if i == 0 or differ(x[i], x[n - 1]):
                x[n] = x[i]
                n += 1
        return x[:n].copy()

    if not any(wanted):
        return values
    dtype = as_dtype(ar.dtype)
    find = places_finder(dtype, is_stable=True)

    @compiled
    def distinct(ar: Any) -> Any:
        """Return the distinct elements, where they lie first, where they are used, and how often."""
        x = np.ascontiguousarray(ar).reshape(ar.size)
        order, n = find(x, 0), 0
        values, first = np.empty(x.size, dtype), np.empty(x.size, np.intp)
        inverse, counts = np.empty(x.size, np.intp), np.zeros(x.size, np.intp)
        for i in range(x.size):
            number = x[order[i]]
            if i == 0 or differ(number, values[n - 1]):
                values[n], first[n] = number, order[i]
                n += 1
            inverse[order[i]] = n - 1
            counts[n - 1] += 1
        return values[:n].copy(), first[:n].copy(), inverse, counts[:n].copy()

    is_shaped = np.unique(np.zeros((1, 1)), return_inverse=True)[1].ndim == 2  # from NumPy 2 on
    shaped = compiled((lambda inverse, ar: inverse.reshape(ar.shape)) if is_shaped else (lambda inverse, ar: inverse))
    take_index = compiled((lambda found: (found[1],)) if return_index else (lambda found: ()))
    take_counts = compiled((lambda found: (found[3],)) if return_counts else (lambda found: ()))
    take_inverse = compiled((lambda found, ar: (shaped(found[2], ar),)) if return_inverse else (lambda found, ar: ()))

    def unique(ar: Any) -> Any:
        found = distinct(ar)
        return (found[0], *take_index(found), *take_inverse(found, ar), *take_counts(found))

    return unique
