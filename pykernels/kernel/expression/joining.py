"""Join arrays along an axis, each part of which is computed and stored by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pykernels.kernel.expression.array_nodes import Joined, Sliced, Strides
from pykernels.kernel.expression.axes import NUMBER, UNIT, Axes, Shape
from pykernels.kernel.expression.construction import convert
from pykernels.kernel.expression.lengths import ADD, length_of
from pykernels.kernel.expression.nodes import Node, NotExpressible, dtype_of


def join(axes: Axes, parts: Sequence[Node], axis: int) -> Node:
    """Return arrays of the same rank joined along an axis, which is counted from the end."""
    if len(parts) == 1:
        return parts[0]
    dtype = np.concatenate([np.ones(1, dtype_of(part)) for part in parts]).dtype
    if dtype.kind not in "biuf":
        raise NotExpressible(f"joined arrays of {dtype}")
    parts = [part if dtype_of(part) == dtype else converted(axes, part, dtype) for part in parts]
    shapes = [axes.shape_of(part) for part in parts]
    at = len(shapes[0]) + axis
    if len({len(shape) for shape in shapes}) != 1:
        raise NotExpressible("joined arrays of different ranks")
    for place, others in enumerate(zip(*shapes)):
        if place != at:
            # Unlike in operations, an axis of length 1 does not fit all others.
            axes.equal += [((others[0],), (other,)) for other in others[1:] if other != others[0]]
    # What is joined has the same axes but for one.
    shape = list(axes.broadcast([(*each[:at], UNIT, *each[at + 1 :]) for each in shapes]))
    firsts, end = [], [NUMBER, 0]
    for each in shapes:
        ((first,),) = axes.add([end])
        firsts.append(first)
        is_known = end[0] == NUMBER and not each[at]
        end = [NUMBER, end[1] + 1] if is_known else [*length_of(first), *length_of(*each[at]), ADD]
    (shape[at],) = axes.add([end])
    made = Joined(np.ones(1, dtype), parts=tuple(parts), axis=axis, firsts=tuple(firsts))
    axes.note(made, tuple(shape))
    return made


def converted(axes: Axes, value: Node, dtype: np.dtype) -> Node:
    """Return an array of another dtype."""
    if isinstance(value, Joined):
        return join(axes, [converted(axes, part, dtype) for part in value.parts], value.axis)
    return convert(value, np.ones(1, dtype), axes)


def pieces_of(axes: Axes, value: Node, whole: Sequence[int], firsts: Sequence[int] = ()) -> list[tuple[Node, Sliced]]:
    """Return the parts that a result is joined from, and where each lies in it.

    Parameters
    ----------
    whole : sequence of int
        The position of every axis of the result.
    firsts : sequence of int
        For every axis, the position of an axis whose length is the first index of `value` in it, or -1 for 0; all
        0 by default.
    """
    firsts = firsts or [-1] * len(whole)
    if isinstance(value, Joined):
        at = len(whole) + value.axis
        found = list[tuple[Node, Sliced]]()
        for part, first in zip(value.parts, value.firsts):
            if firsts[at] >= 0:
                ((first,),) = axes.add([[*length_of(firsts[at]), *length_of(first), ADD]])
            found += pieces_of(axes, part, whole, [*firsts[:at], first, *firsts[at + 1 :]])
        return found
    shape = [_single(axes, axis) for axis in axes.shape_of(value)]
    strides = (Strides(first, 1, min(axis, default=-1), at) for first, axis, at in zip(firsts, shape, whole))
    return [(value, Sliced(value.sample, operand=value, strides=tuple(strides)))]


def _single(axes: Axes, axis: frozenset[int]) -> frozenset[int]:
    """Return an axis of its own with the same length, in the same class."""
    if len(axis) < 2:
        return axis
    (made,) = axes.add([length_of(*axis)])
    axes.broadcast([(axis,), (made,)])
    return made


def positions_of(axes: Axes, shape: Shape) -> list[int]:
    """Return a position for every axis of a shape, also for those of length 1."""
    return [min(axes.add([length_of(*axis)])[0]) for axis in shape]
