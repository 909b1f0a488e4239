"""Sort and partition arrays along an axis, by functions of the runtime."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer
from pykernels.kernel.numba.runtime_calls import call_runtime

_KINDS = (None, "quicksort", "heapsort", "mergesort", "stable", "introselect")


def _can_order(a: Any, axis: Any, *options: Any) -> bool:
    """Whether an array can be ordered along an axis, or as a whole; refuse options that are not known."""
    if any(isinstance(option, nb.Type) or option not in (*_KINDS, True, False) for option in options):
        raise errors.TypingError("kind= is one of NumPy's, known while compiling, and order= is None")
    return is_array(a) and (axis is None or (a.ndim > 0 and is_integer(axis)))


def _copied(a: Any, is_flat: bool) -> Any:
    """Return a function that returns a contiguous copy of an array, of one axis if it `is_flat`."""
    dtype = as_dtype(a.dtype)

    @compiled
    def copied(a: Any) -> Any:
        made = np.empty(a.shape, dtype)
        copy(made, a)
        return made.reshape(made.size) if is_flat else made

    return copied


def _contiguous(is_flat: bool) -> Any:
    """Return a function that returns an array, or a copy of it, that is contiguous."""

    @compiled
    def contiguous(a: Any) -> Any:
        made = np.ascontiguousarray(a)
        return made.reshape(made.size) if is_flat else made

    return contiguous


def _in_place(a: Any, order: Any) -> Any:
    """Return a function that orders any array in place, by one that does so with contiguous arrays."""
    if not a.mutable:
        raise errors.TypingError("an input is ordered in place")
    if a.layout == "C":
        return order
    copied = _copied(a, is_flat=False)

    @compiled
    def order_view(a: Any, *given: Any) -> None:
        made = copied(a)
        order(made, *given)
        copy(a, made)

    return order_view


# ---- sorting


@functools.cache
def _sorter(dtype: np.dtype) -> Any:
    """Return a function that sorts contiguous arrays of a dtype along an axis, in place."""
    function = f"pk_sort_{dtype}"

    @compiled
    def sort(a: Any, axis: Any) -> None:
        at = checked_axis(axis, a.ndim)
        outer, inner = around(a.shape, at)
        call_runtime(function, a, outer, a.shape[at], inner)

    return sort


_sort_ranks = _sorter(np.dtype(np.intp))


@implements(np.sort)
def _sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Any:
    if not _can_order(a, axis, kind, order, stable):
        return None
    copied, sort_in_place = _copied(a, axis is None), _sorter(as_dtype(a.dtype))

    def sort(a: Any, axis: Any) -> Any:
        made = copied(a)
        sort_in_place(made, 0 if axis is None else axis)
        return made

    return sort


@implements(method="sort")
def _sort_method(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Any:
    if axis is None or not _can_order(a, axis, kind, order, stable):
        return None
    sort_in_place = _in_place(a, _sorter(as_dtype(a.dtype)))
    return lambda a, axis: sort_in_place(a, axis)


@functools.cache
def places_finder(dtype: np.dtype, *, is_stable: bool) -> Any:
    """Return a function that finds the places of sorted elements along an axis of contiguous arrays of a dtype."""
    function, keeps_order = f"pk_argsort_{dtype}", int(is_stable)

    @compiled
    def argsort(a: Any, axis: Any) -> Any:
        at, places = checked_axis(axis, a.ndim), np.empty(a.shape, np.intp)
        outer, inner = around(a.shape, at)
        call_runtime(function, a, places, outer, a.shape[at], inner, keeps_order)
        return places

    return argsort


@implements(np.argsort, method="argsort")
def _argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Any:
    if not _can_order(a, axis, kind, order, stable):
        return None
    find = places_finder(as_dtype(a.dtype), is_stable=bool(stable) or kind in ("mergesort", "stable"))
    contiguous = _contiguous(axis is None)
    return lambda a, axis: find(contiguous(a), 0 if axis is None else axis)


def _lexsorter(types: Any) -> Any:
    """Return a function that sorts by the last of several keys, equal ones by the key before it, and so on."""
    find = places_finder(as_dtype(types[-1].dtype), is_stable=True)
    if len(types) == 1:
        return compiled(lambda keys: find(np.ascontiguousarray(keys[0]), 0))
    sort_by_others = _lexsorter(types[:-1])

    @compiled
    def lexsort(keys: Any) -> Any:
        places, key = sort_by_others(keys[:-1]), keys[-1]
        if key.size != places.size:
            raise ValueError("all keys need to be the same shape")
        ordered = np.empty(key.size, key.dtype)
        for i in range(key.size):
            ordered[i] = key[places[i]]
        order = find(ordered, 0)
        for i in range(key.size):
            order[i] = places[order[i]]
        return order

    return lexsort


@implements(np.lexsort)
def _lexsort(keys: Any, axis: Any = -1) -> Any:
    is_known = isinstance(keys, nb.BaseTuple) and len(keys) > 0 and axis in (-1, 0)
    if not is_known or not all(is_array(key) and key.ndim == 1 for key in keys):
        return None
    sort = _lexsorter(tuple(keys))
    return lambda keys: sort(keys)


# ---- partitions


def _ranks(kth: Any) -> Any:
    """Return a function that returns `kth` as an increasing array of ranks; None if it cannot hold ranks."""
    if isinstance(kth, tuple) and kth and all(map(is_integer, kth)):
        values = np.array(kth, np.intp)
        items = compiled(lambda kth: values)
    elif is_integer(kth):
        items = compiled(lambda kth: np.full(1, kth, np.intp))
    elif isinstance(kth, (nb.UniTuple, nb.List)) or (isinstance(kth, nb.Array) and kth.ndim == 1):
        if not is_integer(kth.dtype):
            return None
        items = compiled(lambda kth: kth)
    else:
        return None

    @compiled
    def ranks(kth: Any, n: Any) -> Any:
        given = items(kth)
        made = np.empty(len(given), np.intp)
        for i in range(made.size):
            rank = given[i] + n if given[i] < 0 else given[i]
            if rank < 0 or rank >= n:
                raise ValueError("kth is out of bounds")
            made[i] = rank
        _sort_ranks(made, 0)
        return made

    return ranks


@functools.cache
def partitioner(dtype: np.dtype) -> Any:
    """Return a function that partitions contiguous arrays of a dtype along an axis, in place, by increasing ranks."""
    function = f"pk_partition_{dtype}"

    @compiled
    def partition(a: Any, axis: Any, ranks: Any) -> None:
        at = checked_axis(axis, a.ndim)
        outer, inner = around(a.shape, at)
        call_runtime(function, a, ranks, ranks.size, outer, a.shape[at], inner)

    return partition


@implements(np.partition)
def _partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    ranks = _ranks(kth)
    if ranks is None or not _can_order(a, axis, kind, order):
        return None
    copied, partition_in_place = _copied(a, axis is None), partitioner(as_dtype(a.dtype))

    def partition(a: Any, kth: Any, axis: Any) -> Any:
        made, along = copied(a), 0 if axis is None else axis
        partition_in_place(made, along, ranks(kth, made.shape[checked_axis(along, made.ndim)]))
        return made

    return partition


@implements(method="partition")
def _partition_method(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    ranks = _ranks(kth)
    if axis is None or ranks is None or not _can_order(a, axis, kind, order):
        return None
    partition_in_place = _in_place(a, partitioner(as_dtype(a.dtype)))

    def partition(a: Any, kth: Any, axis: Any) -> None:
        partition_in_place(a, axis, ranks(kth, a.shape[checked_axis(axis, a.ndim)]))

    return partition


@implements(np.argpartition, method="argpartition")
def _argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    ranks = _ranks(kth)
    if ranks is None or not _can_order(a, axis, kind, order):
        return None
    contiguous, function = _contiguous(axis is None), f"pk_argpartition_{as_dtype(a.dtype)}"

    def argpartition(a: Any, kth: Any, axis: Any) -> Any:
        source = contiguous(a)
        at = checked_axis(0 if axis is None else axis, source.ndim)
        (outer, inner), places, n = around(source.shape, at), np.empty(source.shape, np.intp), source.shape[at]
        wanted = ranks(kth, n)
        call_runtime(function, source, places, wanted, wanted.size, outer, n, inner)
        return places

    return argpartition
