"""Pad arrays: copy the elements as a whole, then fill what is before and after them, axis by axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.along import around
from pykernels.kernel.numba.functions.views import part
from pykernels.kernel.numba.implementing import compiled, implements, is_array, known

# Before NumPy 1.25, wrapping around more than once gives other elements.
_WRAPS_ONCE = np.lib.NumpyVersion(np.__version__) < "1.25.0"


@compiled
def _edge(place: Any, n: Any) -> Any:
    return min(max(place, 0), n - 1)


@compiled
def _wrap(place: Any, n: Any) -> Any:
    if _WRAPS_ONCE and (place < -n or place >= 2 * n):
        raise ValueError("the padding is wider than the array")
    return place % n


@compiled
def _symmetric(place: Any, n: Any) -> Any:
    at = place % (2 * n)
    return at if at < n else 2 * n - 1 - at


@compiled
def _reflect(place: Any, n: Any) -> Any:
    if n == 1:
        return 0
    at = place % (2 * n - 2)
    return at if at < n else 2 * n - 2 - at


_SOURCES = {"edge": _edge, "wrap": _wrap, "symmetric": _symmetric, "reflect": _reflect}


@compiled
def _fill(rows: Any, left: Any, n: Any, first: Any, last: Any) -> None:
    """Fill each row before and after its n elements with two values."""
    for i in range(rows.shape[0]):
        for k in range(left):
            rows[i, k, :] = first
        for k in range(left + n, rows.shape[1]):
            rows[i, k, :] = last


def _extender(source: Any) -> Any:
    """Return a function that extends each row by its own n elements; `source` gives the place of each."""

    @compiled
    def extend(rows: Any, left: Any, n: Any, first: Any, last: Any) -> None:
        if n == 0:
            raise ValueError("an empty axis has nothing to pad with")
        padding = rows.shape[1] - n
        targets, sources = np.empty(padding, np.intp), np.empty(padding, np.intp)
        for k in range(padding):
            targets[k] = k if k < left else k + n
            sources[k] = left + source(targets[k] - left, n)
        for i in range(rows.shape[0]):
            if rows.shape[2] == 1:
                row = rows[i, :, 0]
                for k in range(padding):
                    row[targets[k]] = row[sources[k]]
                continue
            for k in range(padding):
                to, place = targets[k], sources[k]
                for j in range(rows.shape[2]):
                    rows[i, to, j] = rows[i, place, j]

    return extend


def _pairs_of(type_: Any, ndim: int) -> list[tuple[tuple[int, ...], ...]] | None:
    """Return where the numbers before and after each axis stand in a number, a pair, or a tuple of pairs."""

    def is_pair(each: Any) -> bool:
        is_tuple = isinstance(each, nb.BaseTuple) and 1 <= len(each) <= 2
        return is_tuple and all(isinstance(member, (nb.Number, nb.Boolean)) for member in each)

    if isinstance(type_, (nb.Number, nb.Boolean)):
        return [((), ())] * ndim
    if is_pair(type_):
        return [((0,), (len(type_) - 1,))] * ndim
    if not isinstance(type_, nb.BaseTuple) or len(type_) not in (1, ndim) or not all(map(is_pair, type_)):
        return None
    pairs: list[tuple[tuple[int, ...], ...]] = [((at, 0), (at, len(each) - 1)) for at, each in enumerate(type_)]
    return pairs * ndim if len(pairs) < ndim else pairs


@intrinsic(prefer_literal=True)
def _pairs(typing_context: Any, numbers: nb.Type, ndim: nb.Type, dtype: nb.Type) -> Any:
    """Return the numbers before and after each axis, in one row."""
    found = _pairs_of(numbers, known(ndim))
    if found is None:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = []
        for path in (path for pair in found for path in pair):
            type_, value = numbers, arguments[0]
            for at in path:
                type_, value = type_[at], cgutils.unpack_tuple(builder, value)[at]
            made.append(context.cast(builder, value, type_, dtype.dtype))
        return context.make_tuple(builder, signature.return_type, made)

    return nb.UniTuple(dtype.dtype, len(found) * 2)(numbers, ndim, dtype), generate


@implements(np.pad)
def _pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    if not is_array(array) or array.ndim == 0 or (mode != "constant" and mode not in _SOURCES):
        return None
    dtype, ndim, size = as_dtype(array.dtype), array.ndim, np.dtype(np.intp)
    fill = _fill if mode == "constant" else _extender(_SOURCES[mode])

    def pad_all(array: Any, pad_width: Any, constant_values: Any) -> Any:
        widths, values = _pairs(pad_width, ndim, size), _pairs(constant_values, ndim, dtype)
        lengths, starts = np.empty(ndim, size), np.empty(ndim, size)
        for axis in range(ndim):
            left, right = widths[2 * axis], widths[2 * axis + 1]
            if left < 0 or right < 0:
                raise ValueError("a negative width")
            lengths[axis], starts[axis] = array.shape[axis] + left + right, left
        made = np.empty(to_fixed_tuple(lengths, ndim), dtype)
        copy(part(made, to_fixed_tuple(starts, ndim), array.shape), array)
        for axis in range(ndim):
            n = array.shape[axis]
            if lengths[axis] > n:
                before, after = around(made.shape, axis)
                rows = made.reshape((before, lengths[axis], after))
                fill(rows, starts[axis], n, values[2 * axis], values[2 * axis + 1])
        return made

    return pad_all
