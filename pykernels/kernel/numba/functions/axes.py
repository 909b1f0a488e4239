"""Views of arrays with their axes in another order, or with more or fewer of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.functions.contraction import view
from pykernels.kernel.numba.functions.moving import positions
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import compiled, implements, is_array, is_integer


@implements(np.moveaxis)
def _moveaxis(a: Any, source: Any, destination: Any) -> Any:
    if not is_array(a):
        return None
    sources = positions(source, a.ndim, "the axes to move")
    places = positions(destination, a.ndim, "the places of axes")
    if len(sources) != len(places):
        return None
    order = [axis for axis in range(a.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    axes = tuple(order)
    return lambda a: arranged(a, axes)


@implements(np.swapaxes, method="swapaxes")
def _swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    if not is_array(a):
        return None
    ((first,), (second,)) = (positions(axis, a.ndim, "an axis of swapaxes") for axis in (axis1, axis2))
    order = list(range(a.ndim))
    order[first], order[second] = second, first
    axes = tuple(order)
    return lambda a: arranged(a, axes)


@implements(np.squeeze, method="squeeze")
def _squeeze(a: Any, axis: Any = None) -> Any:
    # Without an axis, the number of axes of the result depends on the lengths.
    if not is_array(a) or axis is None:
        return None
    left_out = positions(axis, a.ndim, "the axis of squeeze")
    kept = tuple(axis for axis in range(a.ndim) if axis not in left_out)
    return lambda a: arranged(a, kept)


@implements(np.broadcast_to)
def _broadcast_to(array: Any, shape: Any) -> Any:
    members = shape if isinstance(shape, (tuple, nb.BaseTuple)) else None
    if not is_array(array) or members is None or len(members) < array.ndim or not all(map(is_integer, members)):
        return None
    if isinstance(shape, tuple):
        return lambda array: broadcast(array, shape)
    return lambda array, shape: broadcast(array, shape)


def diagonal_of(array: nb.Array, axes: tuple[Any, Any]) -> Any:
    """Return a function of an array and an offset that returns the view of a diagonal of two axes, as its last axis.

    Raises
    ------
    TypingError
        As `positions`.
    """
    first, second = positions(axes, array.ndim, "the axes of a diagonal")
    kept = tuple(axis for axis in range(array.ndim) if axis not in (first, second))
    order, diagonal = (*kept, first, second), view((*kept, first), (*kept, first, first))

    @compiled
    def take(a: Any, offset: Any) -> Any:
        part = arranged(a, order)[..., max(-offset, 0) :, max(offset, 0) :]
        n = min(part.shape[-2], part.shape[-1])
        return diagonal(part[..., :n, :n])

    return take


@implements(np.diagonal, method="diagonal")
def _diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    if not is_array(a) or not is_integer(offset):
        return None
    take = diagonal_of(a, (axis1, axis2))

    @compiled
    def read_only(a: Any, offset: Any) -> Any:
        found = take(a, offset)
        return broadcast(found, found.shape)

    if isinstance(offset, int):
        return lambda a: read_only(a, offset)
    return lambda a, offset: read_only(a, offset)


@implements(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    if not is_array(a):
        return None
    count = len(axis) if isinstance(axis, tuple) else 1
    new = positions(axis, a.ndim + count, "the axis of expand_dims")
    left = iter(range(a.ndim))
    order = tuple(NEW if place in new else next(left) for place in range(a.ndim + count))
    return lambda a: arranged(a, order)
