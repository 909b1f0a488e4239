"""The places of extrema: several times as fast as numba's, and NumPy's also where there are NaN."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import overload, overload_method
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.copying import reinterpret
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.implementing import compiled
from pykernels.kernel.numba.target import kernel_target

# The number of elements that are used again while they are in the first-level cache.
_BLOCK = 1024
# A loop of a multiple of so many turns is vectorised without a scalar remainder.
_FEW = 32


def _first_finder(bits: Any) -> Any:
    """Return a function that finds the first of the integers that are `wanted` in the bits of a mask."""
    # Lanes can hold so many places, of which the first is found without a branch.
    far = bits(96 if bits(0).itemsize == 1 else 256)

    @compiled
    def find(x: Any, mask: Any, wanted: Any) -> Any:
        for place in range(0, x.size, far):
            part, first = x[place : place + far], far
            whole = part.size // _FEW * _FEW
            for i in range(whole):
                first = min(first, bits(i) if part[i] & mask == wanted else far)
            if first < far:
                return place + int(first)
            for i in range(whole, part.size):
                if part[i] & mask == wanted:
                    return place + i
        return x.size

    return find


def _integer_finder(is_better: Callable[[Any, Any], Any], dtype: Any) -> Any:
    """Return a function that finds the first extremum in a one-dimensional array of integers."""
    find_first, all_bits, many = _first_finder(dtype.type), ~dtype.type(0), 256 // dtype.itemsize

    @compiled
    def find(x: Any) -> Any:
        best, at = x[0], 0
        for begin in range(0, x.size, _BLOCK):
            block = x[begin : begin + _BLOCK]
            extreme, whole = block[0], block.size // many * many
            for i in range(whole):
                extreme = block[i] if is_better(block[i], extreme) else extreme
            for i in range(whole, block.size):
                extreme = block[i] if is_better(block[i], extreme) else extreme
            if is_better(extreme, best):
                best, at = extreme, begin
        return at + find_first(x[at:], all_bits, best)

    return find


def _float_finder(is_better: Callable[[Any, Any], Any], dtype: Any) -> Any:
    """Return a function that finds the first extremum, or NaN, in a one-dimensional array of floating-point numbers.

    They are compared as integers. The largest one with a sign is the largest number that is not negative, and the
    largest one without a sign is the least negative number; either is NaN if it is beyond infinity. If there is no such
    number, the least integer is the extremum.
    """
    bits, natural = (np.dtype(f"{kind}{dtype.itemsize}").type for kind in "iu")
    infinity, least = (np.array(each, dtype).view(natural)[()] for each in (np.inf, -np.inf))
    size, many, is_largest = bits(np.iinfo(bits).max), 256 // dtype.itemsize, is_better(1, 0)
    find_first = _first_finder(bits)

    @compiled
    def key_of(number: Any) -> Any:
        return number if number >= 0 else bits(-(number & size))

    @compiled
    def find(numbers: Any) -> Any:
        x, at = reinterpret(numbers, bits), 0
        best = x[0]
        if x.size < _FEW:
            top = numbers[0]
            for i in range(x.size):
                if numbers[i] != numbers[i]:
                    return i
                if is_better(numbers[i], top):
                    top, at = numbers[i], i
            return at
        for begin in range(0, x.size, _BLOCK):
            block = x[begin : begin + _BLOCK]
            largest, highest = block[0], natural(block[0])
            whole = block.size // many * many
            for i in range(whole):
                number, plain = block[i], natural(block[i])
                largest = number if number > largest else largest
                highest = plain if plain > highest else highest
            for i in range(whole, block.size):
                number, plain = block[i], natural(block[i])
                largest = number if number > largest else largest
                highest = plain if plain > highest else highest
            if largest > bits(infinity) or highest > least:
                for i in range(block.size):
                    if (block[i] & size) > bits(infinity):
                        return begin + i
            extreme = largest if is_largest else bits(highest)
            if (extreme < 0) == is_largest:
                for i in range(block.size):
                    extreme = block[i] if block[i] < extreme else extreme
            if is_better(key_of(extreme), key_of(best)):
                best, at = extreme, begin
        # Zeros of both signs are equal.
        is_zero = best & size == 0
        return at + find_first(x[at:], size if is_zero else bits(-1), bits(0) if is_zero else best)

    return find


def _flag_finder(is_better: Callable[[Any, Any], Any], _dtype: Any) -> Any:
    """Return a function that finds the first extremum in an array of booleans, and stops there."""
    wanted = is_better(True, False)

    @compiled
    def find(x: Any) -> Any:
        for begin in range(0, x.size, _BLOCK):
            block, is_here = x[begin : begin + _BLOCK], False
            for i in range(block.size):
                is_here |= block[i] == wanted
            if is_here:
                for i in range(block.size):
                    if block[i] == wanted:
                        return begin + i
        return 0

    return find


def _row_folder(is_better: Callable[[Any, Any], Any]) -> Any:
    """Return a function that finds the first extremum, or NaN, in each column."""

    @compiled
    def fold(rows: Any, best: Any, places: Any) -> None:
        for k in range(best.size):
            best[k] = rows[0, k]
        for i in range(1, rows.shape[0]):
            for k in range(best.size):
                new, old = rows[i, k], best[k]
                is_new = is_better(new, old) | ((new != new) & (old == old))
                best[k] = new if is_new else old
                places[k] = i if is_new else places[k]

    return fold


def _define_extremum(function: Any, is_better: Callable[[Any, Any], Any]) -> None:
    fold = _row_folder(is_better)

    @functools.cache
    def finder(dtype: Any) -> Any:
        find = {"b": _flag_finder, "f": _float_finder}.get(dtype.kind, _integer_finder)(is_better, dtype)

        @compiled
        def find_in_some(x: Any) -> Any:
            if x.size == 0:
                raise ValueError("an extremum of an empty array")
            return find(x)

        return find_in_some

    def typed(a: Any, axis: Any = None) -> Any:
        if not isinstance(a, nb.Array) or a.ndim == 0 or not isinstance(a.dtype, (nb.Boolean, nb.Integer, nb.Float)):
            return None
        dtype, left = as_dtype(a.dtype), a.ndim - 1
        find = finder(dtype)
        if isinstance(axis, (nb.NoneType, nb.Omitted)) or axis is None:

            def of_all(a: Any, axis: Any = None) -> Any:
                return find(np.ascontiguousarray(a).reshape(a.size))

            return of_all
        if not isinstance(axis, nb.Integer):
            return None
        if left == 0:

            def of_one_axis(a: Any, axis: Any = None) -> Any:
                checked_axis(axis, 1)
                return find(np.ascontiguousarray(a))

            return of_one_axis

        def along(a: Any, axis: Any = None) -> Any:
            at = checked_axis(axis, a.ndim)
            (outer, inner), n, lengths = around(a.shape, at), a.shape[at], np.empty(left, np.intp)
            for i in range(left):
                lengths[i] = a.shape[i if i < at else i + 1]
            if n == 0 and outer * inner > 0:
                raise ValueError("an extremum of an empty array")
            places = np.zeros((outer, inner), np.intp)
            if inner == 1:
                rows = np.ascontiguousarray(a).reshape((outer, n))
                for i in range(outer):
                    places[i, 0] = find(rows[i])
            elif outer * inner > 0:
                parts, best = np.ascontiguousarray(a).reshape((outer, n, inner)), np.empty(inner, dtype)
                for i in range(outer):
                    fold(parts[i], best, places[i])
            return places.reshape(to_fixed_tuple(lengths, left))

        return along

    overload(function, target=kernel_target.name)(typed)
    overload_method(nb.Array, function.__name__, target=kernel_target.name)(typed)


_define_extremum(np.argmax, operator.gt)
_define_extremum(np.argmin, operator.lt)
