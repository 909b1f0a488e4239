"""Repeat the elements of arrays, or whole arrays, also along the axes of a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.copying import copy
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer


@compiled
def _repeated(a: Any, repeats: Any, inner: Any, dtype: Any) -> Any:
    """Return runs of `inner` elements of a contiguous array, each repeated, as a vector."""
    if repeats < 0:
        raise ValueError("repeats may not contain negative values")
    runs = a.size // inner if inner > 0 else 0
    rows, made = a.reshape((runs, inner)), np.empty((runs, repeats, inner), dtype)
    if inner == 1:
        for i in range(runs):
            for k in range(repeats):
                made[i, k, 0] = rows[i, 0]
    else:
        for k in range(repeats):
            copy(made[:, k], rows)
    return made.reshape(made.size)


@compiled
def _places(repeats: Any, length: Any) -> Any:
    """Return each place of an axis of a length as many times as it is repeated."""
    if repeats.size not in (1, length):
        raise ValueError("repeats must have one number for each element along the axis")
    total = 0
    for i in range(length):
        count = repeats[i if repeats.size > 1 else 0]
        if count < 0:
            raise ValueError("repeats may not contain negative values")
        total += count
    places, end = np.empty(total, np.intp), 0
    for i in range(length):
        begin, end = end, end + repeats[i if repeats.size > 1 else 0]
        places[begin:end] = i
    return places


@implements(np.repeat, method="repeat")
def _repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if not is_array(a) or not (axis is None or (is_integer(axis) and a.ndim > 0)):
        return None
    if is_array(repeats) and repeats.ndim == 1 and isinstance(repeats.dtype, nb.Integer):
        if axis is None:
            return lambda a, repeats: np.take(a, _places(repeats, a.size))
        return lambda a, repeats, axis: np.take(a, _places(repeats, a.shape[checked_axis(axis, a.ndim)]), axis)
    if not is_integer(repeats):
        return None
    dtype, ndim = as_dtype(a.dtype), a.ndim
    if axis is None:
        return lambda a, repeats: _repeated(np.ascontiguousarray(a), repeats, 1, dtype)

    def repeat(a: Any, repeats: Any, axis: Any) -> Any:
        at = checked_axis(axis, ndim)
        lengths = np.empty(ndim, np.intp)
        for i in range(ndim):
            lengths[i] = a.shape[i] * (repeats if i == at else 1)
        made = _repeated(np.ascontiguousarray(a), repeats, around(a.shape, at)[1], dtype)
        return made.reshape(to_fixed_tuple(lengths, ndim))

    return repeat


@implements(np.tile)
def _tile(a: Any, reps: Any) -> Any:
    several = isinstance(reps, (tuple, nb.BaseTuple))
    if not is_array(a) or not all(map(is_integer, reps if several else (reps,))):
        return None
    count = len(reps) if several else 1
    dtype, ndim = as_dtype(a.dtype), max(a.ndim, count)
    missing, doubled = ndim - a.ndim, 2 * ndim
    # Beside each axis of the array, an axis of its repetitions.
    order = tuple(each for axis in range(ndim) for each in (NEW, axis - missing if axis >= missing else NEW))

    @compiled
    def tiled(a: Any, times: Any) -> Any:
        lengths, whole = np.ones(doubled, np.intp), np.empty(ndim, np.intp)
        for axis in range(ndim):
            if axis >= ndim - count:
                lengths[2 * axis] = max(times[axis - (ndim - count)], 0)
            if axis >= missing:
                lengths[2 * axis + 1] = a.shape[axis - missing]
            whole[axis] = lengths[2 * axis] * lengths[2 * axis + 1]
        shape = to_fixed_tuple(lengths, doubled)
        made = np.empty(shape, dtype)
        copy(made, broadcast(arranged(a, order), shape))
        return made.reshape(to_fixed_tuple(whole, ndim))

    if several:
        return lambda a, reps: tiled(a, reps)
    return lambda a, reps: tiled(a, (reps,))


def grids(xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    """Return the arrays that `np.meshgrid` returns for the vectors in a tuple."""


grids.__name__ = "meshgrid"  # as errors call it


@implements(grids)
def _grids(xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    vectors = isinstance(xi, nb.BaseTuple) and all(is_array(each) and each.ndim == 1 for each in xi)
    if not vectors or not isinstance(sparse, bool) or indexing not in ("xy", "ij"):
        return None
    ndim = len(xi)
    places = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else list(range(ndim))
    orders = {f"order{at}": tuple(0 if each == at else NEW for each in places) for at in range(ndim)}
    shape = "".join(f"xi[{at}].shape[0], " for at in places)
    arranged_xi = [f"arranged(xi[{at}], order{at})" for at in range(ndim)]
    made = [f"{each}.copy()" if sparse else f"filled({each}, shape)" for each in arranged_xi]
    namespace: dict[str, Any] = {"arranged": arranged, "filled": _filled, **orders}
    exec(f"def call(xi):\n    shape = ({shape})\n    return ({''.join(f'{each}, ' for each in made)})", namespace)
    return namespace["call"]


def open_grid(vectors: Any) -> Any:
    """Return what `np.ix_` returns for the vectors in a tuple."""


open_grid.__name__ = "ix_"


@implements(open_grid)
def _open_grid(vectors: Any) -> Any:
    known = isinstance(vectors, (tuple, nb.BaseTuple)) and all(_vector(each, "") for each in vectors)
    if not known or not len(vectors):
        return None
    ndim, orders = len(vectors), {}
    for at in range(ndim):
        orders[f"order{at}"] = tuple(0 if each == at else NEW for each in range(ndim))
    arranged_vectors = [f"arranged({_vector(each, f'vectors[{at}]')}, order{at}), " for at, each in enumerate(vectors)]
    namespace: dict[str, Any] = {"np": np, "arranged": arranged, **orders}
    exec(f"def call(vectors):\n    return ({''.join(arranged_vectors)})", namespace)
    return namespace["call"]


def _vector(given: Any, text: str) -> str | None:
    """Return the code of the places that a vector or list of `np.ix_` stands for; None if it is neither."""
    if is_array(given) and given.ndim == 1:
        return f"np.flatnonzero({text})" if isinstance(given.dtype, nb.Boolean) else text or "vector"
    return f"np.array({text})" if isinstance(given, nb.List) and isinstance(given.dtype, nb.Integer) else None


#: The functions that take one tuple in the place of those that take its arrays one by one.
OF_TUPLES = {np.meshgrid: grids, np.ix_: open_grid}


@compiled
def _filled(source: Any, shape: Any) -> Any:
    made = np.empty(shape, source.dtype)
    copy(made, broadcast(source, shape))
    return made
