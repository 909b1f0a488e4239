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

from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.implementing import compiled
from pykernels.kernel.numba.target import kernel_target

# The number of elements that are used again while they are in the first-level cache.
_BLOCK = 2048
# The numbers of elements that are searched at once: a vectorised loop of known length has no scalar remainder. At the
# end of a row some elements are searched twice.
_FEW, _MANY = 32, 128


def _place_finder(is_better: Callable[[Any, Any], Any], dtype: Any) -> Any:
    """Return a function that finds the first extremum, or NaN, in a one-dimensional array of this dtype.

    Floating-point numbers are compared as integers: their bits increase with their size, and the sign bit negates them.
    Integers have no NaN, so the extremum of a vector is that of its lanes.
    """
    is_float = dtype.kind == "f"
    bits = np.dtype(f"i{dtype.itemsize}").type if is_float else dtype.type
    unsigned = bits(np.iinfo(bits).max)
    infinity = int(np.array(np.inf, dtype).view(bits)) if is_float else 0

    @compiled
    def size_of(number: Any) -> Any:
        return bits(number & unsigned) if is_float else bits(0)

    @compiled
    def key_of(number: Any) -> Any:
        return number if number >= 0 or not is_float else bits(-(number & unsigned))

    @compiled
    def find(numbers: Any) -> Any:
        if numbers.size == 0:
            raise ValueError("an extremum of an empty array")
        x = numbers.view(bits)
        best, at = key_of(x[0]), 0
        if x.size < _FEW:
            for i in range(x.size):
                if size_of(x[i]) > infinity:
                    return i
                if is_better(key_of(x[i]), best):
                    best, at = key_of(x[i]), i
            return at
        for place in range(0, x.size, _BLOCK):
            begin = min(place, x.size - _FEW)
            block = x[begin : begin + _BLOCK]
            extreme, largest = key_of(block[0]), size_of(block[0])
            whole = block.size // _MANY * _MANY
            for i in range(whole):
                key, size = key_of(block[i]), size_of(block[i])
                extreme = key if is_better(key, extreme) else extreme
                largest = size if size > largest else largest
            if 0 < whole < block.size:
                many = block[block.size - _MANY :]
                for i in range(_MANY):
                    key, size = key_of(many[i]), size_of(many[i])
                    extreme = key if is_better(key, extreme) else extreme
                    largest = size if size > largest else largest
                whole = block.size
            for first in range(whole, block.size, _FEW):
                few = block[min(first, block.size - _FEW) :]
                for i in range(_FEW):
                    key, size = key_of(few[i]), size_of(few[i])
                    extreme = key if is_better(key, extreme) else extreme
                    largest = size if size > largest else largest
            if largest > infinity:
                for i in range(block.size):
                    if size_of(block[i]) > infinity:
                        return begin + i
            if is_better(extreme, best):
                best, at = extreme, begin
        for place in range(at, x.size, _FEW):
            begin, is_here = min(place, x.size - _FEW), False
            few = x[begin:]
            for i in range(_FEW):
                is_here |= key_of(few[i]) == best
            if is_here:
                first = _FEW
                for i in range(_FEW):
                    first = min(first, i if key_of(few[i]) == best else _FEW)
                return begin + first
        return at

    return find


def _flag_finder(is_better: Callable[[Any, Any], Any]) -> Any:
    """Return `_place_finder` for booleans, which can stop at the first best value."""
    wanted = is_better(True, False)

    @compiled
    def find(x: Any) -> Any:
        if x.size == 0:
            raise ValueError("an extremum of an empty array")
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
        return _flag_finder(is_better) if dtype.kind == "b" else _place_finder(is_better, dtype)

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
