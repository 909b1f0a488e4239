"""Views of arrays with their axes in another order, or with more or fewer of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types as nb

from pykernels.kernel.numba.functions.moving import positions
from pykernels.kernel.numba.functions.views import NEW, arranged, broadcast
from pykernels.kernel.numba.implementing import implements, is_array, is_integer


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


@implements(np.expand_dims)
def _expand_dims(a: Any, axis: Any) -> Any:
    if not is_array(a):
        return None
    count = len(axis) if isinstance(axis, tuple) else 1
    new = positions(axis, a.ndim + count, "the axis of expand_dims")
    left = iter(range(a.ndim))
    order = tuple(NEW if place in new else next(left) for place in range(a.ndim + count))
    return lambda a: arranged(a, order)
