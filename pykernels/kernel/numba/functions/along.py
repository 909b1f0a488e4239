"""Axes of arrays in functions that numba compiles: their positions, and the lengths around them."""

from __future__ import annotations

from typing import Any

from pykernels.kernel.numba.implementing import compiled


@compiled
def checked_axis(axis: Any, ndim: Any) -> Any:
    """Return the position of an axis, counted from the first."""
    at = axis + ndim if axis < 0 else axis
    if at < 0 or at >= ndim:
        raise ValueError("there is no such axis")
    return at


@compiled
def around(lengths: Any, at: Any) -> Any:
    """Return the products of the lengths before and after an axis."""
    before, after = 1, 1
    for i in range(len(lengths)):
        if i < at:
            before *= lengths[i]
        if i > at:
            after *= lengths[i]
    return before, after
