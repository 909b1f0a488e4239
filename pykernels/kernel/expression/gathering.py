"""Express elements of an input at computed places: ``x[rows, :, columns]`` and `np.take_along_axis`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Reshaped, Start, Strides
from pykernels.kernel.expression.axes import UNIT, Axes, Axis, Shape
from pykernels.kernel.expression.distribution import apply, convert
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, dtype_of
from pykernels.kernel.expression.operations import BINARY, CHECK, COMPARISONS, GATHER, Function
from pykernels.kernel.expression.selection import view
from pykernels.kernel.expression.views import count, count_to, places_of

_ADD, _MULTIPLY = BINARY[ast.Add], BINARY[ast.Mult]
_LEAST, _BELOW = COMPARISONS[ast.GtE], COMPARISONS[ast.Lt]
_WHERE, _AND = Function("where", np.where), Function("logical_and", np.logical_and, lambda *_: np.dtype(np.bool_))
_INTEGER = np.ones(1, np.int64)


def is_gathering(axes: Axes, parts: Sequence[Any]) -> bool:
    """Whether parts of an index are arrays."""
    return any(axes.is_ranked(part) and axes.shape_of(part) for part in parts)


def index(axes: Axes, value: Node, parts: Sequence[Any]) -> Node:
    """Return the elements of an input that an index of arrays among whole slices picks."""
    shape = axes.shape_of(value)
    at = parts.index(...) if ... in parts else len(parts)
    given = [*parts[:at], *[slice(None)] * (len(shape) - len(parts) + (at < len(parts))), *parts[at + 1 :]]
    are_picked = [isinstance(part, Node) for part in given]
    if len(given) != len(shape) or any(part != slice(None) for part in given if not isinstance(part, Node)):
        raise NotExpressible("an index")
    rank = max(len(axes.shape_of(part)) for part in given if isinstance(part, Node))
    # The picked axes come first if others lie between them.
    first, last = are_picked.index(True), len(given) - 1 - are_picked[::-1].index(True)
    before = first if all(are_picked[first : last + 1]) else 0
    left = [at for at, is_picked in enumerate(are_picked) if not is_picked]
    total = rank + len(left)
    coordinates: list[Node | None] = []
    for at, part in enumerate(given):
        if isinstance(part, Node):
            coordinates.append(_spread(axes, part, total - before - rank))
        else:
            place = left.index(at)
            coordinates.append(_numbers(axes, shape[at], total - 1 - place - (rank if place >= before else 0)))
    found = _gathered(axes, value, coordinates, are_picked)
    return _spread_before(axes, found, total)


def take_along_axis(axes: Axes, arr: Node, indices: Any, axis: Any = -1) -> Node:
    """Return the elements of an input that the indices pick along an axis."""
    shape = axes.shape_of(arr)
    if not axes.is_ranked(indices) or len(axes.shape_of(indices)) != len(shape) or axis is None:
        raise NotExpressible("places along no axis")
    (picked,) = places_of(axis, len(shape))
    coordinates = [
        indices if at == picked else _numbers(axes, each, len(shape) - 1 - at) for at, each in enumerate(shape)
    ]
    return _gathered(axes, arr, coordinates, [at == picked for at in range(len(shape))])


def _numbers(axes: Axes, axis: Axis, behind: int) -> Node | None:
    """Return the places along an axis, with so many axes of length 1 behind; None for an axis of length 1."""
    if not axis:
        return None
    return _spread(axes, count_to(axes, count(axes, (axis,))), behind)


def _spread(axes: Axes, value: Node, behind: int) -> Node:
    return view(axes, value, (*axes.shape_of(value), *[UNIT] * behind)) if behind else value


def _spread_before(axes: Axes, value: Node, rank: int) -> Node:
    """Return an array with axes of length 1 in front, up to a rank."""
    shape = axes.shape_of(value)
    return view(axes, value, (*[UNIT] * (rank - len(shape)), *shape)) if len(shape) < rank else value


def _gathered(axes: Axes, value: Node, coordinates: Sequence[Node | None], are_picked: Sequence[bool]) -> Node:
    """Return the elements of an array at coordinates, of which those that are picked are checked."""
    source = value.operand if isinstance(value, Reshaped) else value
    if not isinstance(source, Input) or not are_picked[-1]:
        raise NotExpressible("an index of what is computed" if are_picked[-1] else "an index of rows")
    shape = axes.shape_of(value)
    strides = tuple(Strides(-1, 1, -1, at) for axis in shape for at in axis)
    start = Start(np.ones(1, dtype_of(value)), operand=value, strides=strides)
    axes.note(start, ())
    # What does not depend on whole slices is computed, and checked, once for all of their elements.
    picked: list[Any] = []
    whole: list[Any] = []
    checks: list[Any] = []
    for at, (axis, coordinate, is_picked) in enumerate(zip(shape, coordinates, are_picked)):
        if coordinate is None:
            continue
        if is_picked:
            length = count(axes, (axis,))
            coordinate = _from_first(axes, coordinate, length)
            checks += [apply(_LEAST, [coordinate, 0], axes), apply(_BELOW, [coordinate, length], axes)]
        (picked if is_picked else whole).append(apply(_MULTIPLY, [coordinate, count(axes, shape[at + 1 :])], axes))
    add, both = (functools.partial(_combined, axes, function) for function in (_ADD, _AND))
    place = functools.reduce(add, picked)
    place = apply(CHECK, [place, functools.reduce(both, checks), _is_any(axes, axes.shape_of(place))], axes)
    # Where a class of axes has an element only for other arrays, an array without elements is read, too.
    place = apply(_WHERE, [_is_any(axes, shape), place, 0], axes)
    found: Node = apply(GATHER, [start, functools.reduce(add, whole, place)], axes)
    return found


def _is_any(axes: Axes, shape: Shape) -> Any:
    """Return whether an array of this shape has elements."""
    return apply(_BELOW, [0, count(axes, shape)], axes)


def _from_first(axes: Axes, coordinate: Node, length: Any) -> Node:
    """Return places along an axis as 64-bit integers; negative ones count from the end."""
    if dtype_of(coordinate).kind not in "iu":
        raise NotExpressible("an index")
    places = convert(coordinate, _INTEGER, axes)
    if dtype_of(coordinate).kind == "u":
        return places
    from_end = apply(_ADD, [places, length], axes)
    found: Node = apply(_WHERE, [apply(_BELOW, [places, 0], axes), from_end, places], axes)
    return found


def _combined(axes: Axes, function: Function, one: Any, other: Any) -> Any:
    return apply(function, [one, other], axes)
