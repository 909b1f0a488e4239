"""Gather and scatter elements by their places, byte offsets from an array's first element, for any rank and strides.

An element's place is the sum of three numbers: one for the axes before those that an index picks from, one for the
picked position, one for the axes after.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np import arrayobj

from pykernels.kernel.numba.arrays.masking import flags_of, positions_of
from pykernels.kernel.numba.copying import emit_view, parts
from pykernels.kernel.numba.target import compile_function, kernel_target

_compiled = compile_function(error_model="numpy", boundscheck=False)
# The number of bytes from which a call that copies them is faster than a loop.
_LONG = 64


@intrinsic
def memory(typing_context: Any, array: nb.Array) -> Any:
    """Return a vector at the first element of an array, so that functions of memory are compiled once for all ranks."""
    returned = nb.Array(array.dtype, 1, "C", readonly=not array.mutable)
    return returned(array), _emit_vector


@intrinsic
def source(typing_context: Any, array: nb.Array) -> Any:
    """Return `memory` to read from."""
    return nb.Array(array.dtype, 1, "C", readonly=True)(array), _emit_vector


def _emit_vector(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view = context.make_array(signature.args[0])(context, builder, arguments[0])
    shape, strides = ([each] for each in (view.nitems, view.itemsize))
    return emit_view(context, builder, signature.return_type, view, view.data, shape, strides)


@intrinsic
def load(typing_context: Any, vector: nb.Array, place: nb.Type) -> Any:
    """Return the element at a place, which is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arrayobj.load_item(context, builder, vector, _pointer(context, builder, vector, arguments))

    return vector.dtype(vector, nb.intp), generate


@intrinsic
def store(typing_context: Any, vector: nb.Array, place: nb.Type, value: nb.Type) -> Any:
    """Write an element at a place, which is not checked."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, vector, arguments)
        arrayobj.store_item(context, builder, vector, arguments[2], pointer)
        return context.get_dummy_value()

    return nb.void(vector, nb.intp, vector.dtype), generate


def _pointer(context: Any, builder: Any, vector: nb.Array, arguments: Any) -> Any:
    data, _, _ = parts(context, builder, vector, arguments[0])
    return cgutils.pointer_add(builder, data, arguments[1], data.type)


@intrinsic
def _copy_run(
    typing_context: Any, target: nb.Array, to: nb.Type, source: nb.Array, place: nb.Type, size: nb.Type
) -> Any:
    """Copy so many bytes from a place in one vector to a place in another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            _pointer(context, builder, type_, arguments[at : at + 2]) for type_, at in ((target, 0), (source, 2))
        ]
        cgutils.raw_memcpy(builder, *pointers, arguments[4], 1)
        return context.get_dummy_value()

    return nb.void(target, nb.intp, source, nb.intp, nb.intp), generate


@_compiled
def places_of(lengths: Any, strides: Any) -> Any:
    """Return the places of all elements of some axes."""
    size = 1
    for length in lengths:
        size *= length
    made, filled = np.zeros(size, np.intp), 1
    if size > 0:
        for back in range(len(lengths)):
            axis = len(lengths) - 1 - back
            for i in range(1, lengths[axis]):
                for j in range(filled):
                    made[i * filled + j] = made[j] + i * strides[axis]
            filled *= lengths[axis]
    return made


@_compiled
def number_place(index: Any, length: Any, stride: Any) -> Any:
    """Return the place of a position along an axis."""
    at = np.intp(index)
    if at < -length or at >= length:
        raise IndexError("index is out of bounds")
    return (at + length if at < 0 else at) * stride


def _vector(indices: Any) -> Any:
    """Return integers as a contiguous vector of `np.intp`."""
    return np.ascontiguousarray(indices, np.intp).reshape(-1)


@overload(_vector, target=kernel_target.name, strict=False)
def _typed_vector(indices: nb.Array) -> Any:
    if indices.dtype == nb.intp:
        return lambda indices: source(np.ascontiguousarray(indices).reshape(indices.size))
    return lambda indices: source(indices.astype(np.intp).reshape(indices.size))


@_compiled
def checked(indices: Any, length: Any) -> Any:
    """Return positions along an axis as a contiguous vector, after a check; negative ones count from the end."""
    flat, is_outside, is_negative = _vector(indices), False, False
    for i in range(flat.size):
        is_outside |= (flat[i] < -length) | (flat[i] >= length)
        is_negative |= flat[i] < 0
    if is_outside:
        raise IndexError("index is out of bounds")
    if not is_negative:
        return flat
    made = np.empty(flat.size, np.intp)
    for i in range(flat.size):
        made[i] = flat[i] + (length if flat[i] < 0 else 0)
    return source(made)


@_compiled
def index_places(indices: Any, length: Any, stride: Any) -> Any:
    """Return the places of positions along an axis, in their shape."""
    made = np.zeros(indices.size, np.intp)
    _add(made, checked(indices, length), stride)
    return made.reshape(indices.shape)


@_compiled
def further_places(places: Any, indices: Any, length: Any, stride: Any) -> Any:
    """Return the sums of places and those of positions along another axis; `places` are overwritten."""
    if places.shape != indices.shape:
        return places + index_places(indices, length, stride)
    _add(places.reshape(places.size), checked(indices, length), stride)
    return places


@_compiled
def _add(places: Any, indices: Any, stride: Any) -> None:
    for i in range(places.size):
        places[i] += indices[i] * stride


@_compiled
def mask_places(mask: Any, lengths: Any, strides: Any) -> Any:
    """Return the places of the elements of some axes that a mask of their shape selects."""
    flags = flags_of(mask, lengths)
    places = positions_of(flags)
    for i in range(places.size):
        place, rest = 0, np.uintp(places[i])
        for back in range(len(lengths)):
            axis = len(lengths) - 1 - back
            length = np.uintp(lengths[axis])
            place += np.intp(rest % length) * strides[axis]
            rest //= length
        places[i] = place
    return places


@_compiled
def gather(vector: Any, outer: Any, picked: Any, step: Any, inner: Any, made: Any) -> None:
    """Write the elements of `vector` at all sums of three places to `made`, a contiguous vector.

    `picked` is in units of `step`.
    """
    at, size, n = 0, vector.itemsize, inner.size
    is_run = lie_in_run(inner, size)
    for o in range(outer.size):
        if is_run and n == 1:
            for b in range(picked.size):
                store(made, at + b * size, load(vector, outer[o] + picked[b] * step))
            at += picked.size * size
            continue
        for b in range(picked.size):
            place = outer[o] + picked[b] * step
            if is_run and n * size >= _LONG:
                _copy_run(made, at, vector, place, n * size)
            elif is_run:
                for i in range(n):
                    store(made, at + i * size, load(vector, place + i * size))
            else:
                for i in range(n):
                    store(made, at + i * size, load(vector, place + inner[i]))
            at += n * size


@_compiled
def scatter(vector: Any, outer: Any, picked: Any, step: Any, inner: Any, given: Any) -> None:
    """Write the elements of `given`, a contiguous vector, where `gather` reads them."""
    at, size, n = 0, vector.itemsize, inner.size
    is_run = lie_in_run(inner, size)
    for o in range(outer.size):
        if is_run and n == 1:
            for b in range(picked.size):
                store(vector, outer[o] + picked[b] * step, load(given, at + b * size))
            at += picked.size * size
            continue
        for b in range(picked.size):
            place = outer[o] + picked[b] * step
            if is_run and n * size >= _LONG:
                _copy_run(vector, place, given, at, n * size)
            elif is_run:
                for i in range(n):
                    store(vector, place + i * size, load(given, at + i * size))
            else:
                for i in range(n):
                    store(vector, place + inner[i], load(given, at + i * size))
            at += n * size


@_compiled
def fill(vector: Any, outer: Any, picked: Any, step: Any, inner: Any, value: Any) -> None:
    """Write a number where `gather` reads."""
    size, n = vector.itemsize, inner.size
    is_run = lie_in_run(inner, size)
    for o in range(outer.size):
        for b in range(picked.size):
            place = outer[o] + picked[b] * step
            if is_run:
                for i in range(n):
                    store(vector, place + i * size, value)
            else:
                for i in range(n):
                    store(vector, place + inner[i], value)


@_compiled
def lie_in_run(places: Any, size: Any) -> Any:
    """Whether elements of a size lie one after the other from the first place on."""
    is_other = False
    for i in range(places.size):
        is_other |= places[i] != i * size
    return not is_other
