"""Take and put elements along axes by their positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.arrays.gathering import checked, gather, load, memory, places_of, source, store
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.functions.indexing import apart
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer


@implements(np.take, method="take")
def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    found = _vector_of(indices)
    if not is_array(a) or found is None or out is not None or mode not in _MODES:
        return None
    vector_of, more = found
    in_mode, dtype, ndim, last = _MODES[mode], as_dtype(a.dtype), a.ndim - 1 + more, a.ndim - 1
    if axis is None and more == 0:
        return lambda a, indices: _taken(a, (1, a.size, 1), in_mode(vector_of(indices)[0], a.size), dtype)[0]
    if axis is None:

        def take_any(a: Any, indices: Any) -> Any:
            picked, shape = vector_of(indices)
            return _taken(a, (1, a.size, 1), in_mode(picked, a.size), dtype).reshape(shape)

        return take_any
    if not is_integer(axis) or a.ndim == 0:
        return None
    if ndim == 0:

        def take_one(a: Any, indices: Any, axis: Any) -> Any:
            checked_axis(axis, 1)
            return _taken(a, (1, a.size, 1), in_mode(vector_of(indices)[0], a.size), dtype)[0]

        return take_one

    def take(a: Any, indices: Any, axis: Any) -> Any:
        at = checked_axis(axis, last + 1)
        picked, shape = vector_of(indices)
        (outer, inner), n = around(a.shape, at), a.shape[at]
        made = _taken(a, (outer, n, inner), in_mode(picked, n), dtype)
        lengths = np.empty(ndim, np.intp)
        for i in range(at):
            lengths[i] = a.shape[i]
        for i in range(more):
            lengths[at + i] = shape[i]
        for i in range(at, last):
            lengths[more + i] = a.shape[i + 1]
        return made.reshape(to_fixed_tuple(lengths, ndim))

    return take


@compiled
def _taken(a: Any, lengths: Any, picked: Any, dtype: Any) -> Any:
    """Return the picked elements of the middle of three axes, as a vector."""
    outer, n, inner = lengths
    size = a.itemsize
    made = np.empty(outer * picked.size * inner, dtype)
    before, after = places_of((outer,), (n * inner * size,)), places_of((inner,), (size,))
    gather(source(np.ascontiguousarray(a)), before, picked, inner * size, after, made)
    return made


@compiled
def _wrapped(picked: Any, length: Any) -> Any:
    if length == 0 and picked.size > 0:
        raise IndexError("there are no elements")
    made = np.empty(picked.size, np.intp)
    for i in range(picked.size):
        made[i] = np.intp(picked[i]) % length
    return source(made)


@compiled
def _clipped(picked: Any, length: Any) -> Any:
    if length == 0 and picked.size > 0:
        raise IndexError("there are no elements")
    made = np.empty(picked.size, np.intp)
    for i in range(picked.size):
        made[i] = min(max(np.intp(picked[i]), 0), length - 1)
    return source(made)


# What each mode makes of positions along an axis.
_MODES = {"raise": checked, "wrap": _wrapped, "clip": _clipped}


def _vector_of(indices: Any) -> tuple[Callable[..., Any], int] | None:
    """Return a function that gives indices as a contiguous vector and their shape, and their rank."""
    if is_integer(indices):
        return _vector_of_number, 0
    if isinstance(indices, nb.Array) and isinstance(indices.dtype, nb.Integer):
        return (_vector_of_array, indices.ndim) if indices.ndim else (_vector_of_scalar, 0)
    members = indices.types if isinstance(indices, nb.BaseTuple) else indices if isinstance(indices, tuple) else ()
    if isinstance(indices, nb.List):
        members = (indices.dtype,)
    return (_vector_of_sequence, 1) if members and all(map(is_integer, members)) else None


@compiled
def _vector_of_number(number: Any) -> Any:
    return np.full(1, number, np.intp), ()


@compiled
def _vector_of_scalar(array: Any) -> Any:
    return np.full(1, array[()], np.intp), ()


@compiled
def _vector_of_array(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(array.size), array.shape


@compiled
def _vector_of_sequence(numbers: Any) -> Any:
    made = np.array(numbers)
    return made, made.shape


@implements(np.take_along_axis)
def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if not is_array(arr) or not _is_of_integers(indices):
        return None
    dtype = as_dtype(arr.dtype)
    if axis is None and indices.ndim == 1:
        return lambda arr, indices: _taken(arr, (1, arr.size, 1), checked(indices, arr.size), dtype)
    if not is_integer(axis) or arr.ndim != indices.ndim:
        return None
    ndim, values_of, places_of = arr.ndim, _stretching(arr), _stretching(indices)

    def take_along_axis(arr: Any, indices: Any, axis: Any) -> Any:
        at = checked_axis(axis, ndim)
        n, count, lengths = arr.shape[at], indices.shape[at], _common(arr.shape, indices.shape, at)
        values, places = source(values_of(arr, lengths, at)), checked(places_of(indices, lengths, at), n)
        from_blocks, at_blocks = _blocks(arr.shape, lengths, at), _blocks(indices.shape, lengths, at)
        outer, inner = around(lengths, at)
        made = np.empty(outer * count * inner, dtype)
        _take_blocks(values, places, from_blocks, at_blocks, (count, n, inner), made)
        lengths[at] = count
        return made.reshape(to_fixed_tuple(lengths, ndim))

    return take_along_axis


@implements(np.put_along_axis)
def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    is_right = is_array(arr) and arr.mutable and _is_of_integers(indices) and arr.ndim == indices.ndim
    if not is_right or not is_integer(axis) or not (is_array(values) or isinstance(values, (int, float, nb.Number))):
        return None
    ndim, dtype, places_of = arr.ndim, as_dtype(arr.dtype), _stretching(indices)
    is_contiguous = arr.layout == "C"
    work_of = _itself if is_contiguous else _copy

    def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
        at = checked_axis(axis, ndim)
        n, count, lengths = arr.shape[at], indices.shape[at], _common(arr.shape, indices.shape, at)
        places = apart(checked(places_of(indices, lengths, at), n), arr)
        at_blocks = _blocks(indices.shape, lengths, at)
        inner = around(lengths, at)[1]
        lengths[at] = count
        given = np.empty(to_fixed_tuple(lengths, ndim), dtype)
        given[...] = values
        lengths[at] = n
        for i in range(ndim):
            if lengths[i] != arr.shape[i]:
                raise ValueError("the indices have another shape")
        made = work_of(arr)
        _put_blocks(memory(made), places, at_blocks, (count, n, inner), source(given))
        if not is_contiguous:
            arr[...] = made

    return put_along_axis


@compiled
def _itself(array: Any) -> Any:
    return array


@compiled
def _copy(array: Any) -> Any:
    return array.copy()


def _is_of_integers(indices: Any) -> bool:
    return isinstance(indices, nb.Array) and indices.ndim > 0 and isinstance(indices.dtype, nb.Integer)


@compiled
def _common(lengths: Any, others: Any, at: Any) -> Any:
    """Return the lengths of two arrays broadcast together except along one axis, where it is 1."""
    made = np.ones(len(lengths), np.intp)
    for i in range(len(lengths)):
        if i != at:
            if lengths[i] != others[i] and lengths[i] != 1 and others[i] != 1:
                raise IndexError("the indices have another shape")
            made[i] = others[i] if lengths[i] == 1 else lengths[i]
    return made


def _stretching(array: nb.Array) -> Callable[..., Any]:
    """Return a function that gives an array as a contiguous vector, broadcast to lengths after an axis."""
    ndim, dtype = array.ndim, as_dtype(array.dtype)

    @compiled
    def stretched(array: Any, lengths: Any, at: Any) -> Any:
        full, is_same = lengths.copy(), True
        for i in range(ndim):
            if i <= at:
                full[i] = array.shape[i]
            is_same &= full[i] == array.shape[i]
        if is_same:
            return np.ascontiguousarray(array).reshape(array.size)
        made = np.empty(to_fixed_tuple(full, ndim), dtype)
        made[...] = array
        return made.reshape(made.size)

    return stretched


@compiled
def _blocks(shape: Any, lengths: Any, at: Any) -> Any:
    """Return the position, along the axes before one together, where an array has what it broadcasts to lengths."""
    size = 1
    for axis in range(at):
        size *= lengths[axis]
    made, filled, stride = np.zeros(size, np.intp), 1, 1
    for back in range(at if size > 0 else 0):
        axis = at - 1 - back
        for i in range(1, lengths[axis] if shape[axis] > 1 else 1):
            for j in range(filled):
                made[i * filled + j] = made[j] + i * stride
        if shape[axis] == 1:
            for i in range(filled, filled * lengths[axis]):
                made[i] = made[i - filled]
        filled *= lengths[axis]
        stride *= shape[axis]
    return made


@compiled
def _take_blocks(values: Any, places: Any, from_blocks: Any, at_blocks: Any, lengths: Any, made: Any) -> None:
    """Write the elements that positions pick in every block, of ``lengths = count, n, inner``."""
    count, n, inner = lengths
    size, item, to = values.itemsize, places.itemsize, 0
    for i in range(from_blocks.size):
        first, at = from_blocks[i] * n * inner, at_blocks[i] * count * inner
        if inner == 1:
            for j in range(count):
                store(made, (to + j) * size, load(values, (first + load(places, (at + j) * item)) * size))
        else:
            for j in range(count):
                for k in range(inner):
                    place = load(places, (at + j * inner + k) * item) * inner + k
                    store(made, (to + j * inner + k) * size, load(values, (first + place) * size))
        to += count * inner


@compiled
def _put_blocks(target: Any, places: Any, at_blocks: Any, lengths: Any, given: Any) -> None:
    """Write the given elements where positions say in every block, of ``lengths = count, n, inner``."""
    count, n, inner = lengths
    size, item, to = target.itemsize, places.itemsize, 0
    for i in range(at_blocks.size):
        first, at = i * n * inner, at_blocks[i] * count * inner
        for j in range(count):
            for k in range(inner):
                place = load(places, (at + j * inner + k) * item) * inner + k
                store(target, (first + place) * size, load(given, (to + j * inner + k) * size))
        to += count * inner
