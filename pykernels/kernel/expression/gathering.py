"""Express elements at computed places: ``x[rows, :, columns]``, `np.take_along_axis` and `np.add.at`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Joined, Reshaped, Scattered, Start, Strides
from pykernels.kernel.expression.axes import UNIT, Axes, Axis, Shape
from pykernels.kernel.expression.distribution import apply, convert
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, Operation, dtype_of, operation
from pykernels.kernel.expression.operations import BINARY, CHECK, COMPARISONS, GATHER, SCATTER, Function, neutral_of
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
    coordinates, are_picked, rank = _coordinates(axes, axes.shape_of(value), parts)
    found = _gathered(axes, value, coordinates, are_picked)
    shape = axes.shape_of(found)
    return view(axes, found, (*[UNIT] * (rank - len(shape)), *shape)) if len(shape) < rank else found


def scatter(axes: Axes, combine: Function, array: Node, parts: Sequence[Any], value: Any) -> Node:
    """Return an array whose elements that an index picks are combined with a value, as often as they are picked."""
    shape, dtype = axes.shape_of(array), dtype_of(array)
    if dtype.kind == "b" or dtype == np.float16 or dtype_of(operation(combine, [array, value])) != dtype:
        raise NotExpressible(f"elements of {dtype} that are combined one by one")
    if not is_gathering(axes, parts):
        raise NotExpressible("an index without arrays")
    coordinates, are_picked, rank = _coordinates(axes, shape, parts)
    if len(axes.shape_of(value)) > rank:
        raise NotExpressible("more axes than the index has")
    value = convert(value, np.ones(1, dtype), axes) if isinstance(value, Node) else dtype.type(value)
    place = _place(axes, shape, coordinates, are_picked)
    made = apply(SCATTER, [place, value], axes)
    # What is broadcast to the picked elements is not longer than these.
    axes.equal.append((axes.shape_of(place), axes.shape_of(made)))
    scattered, before = list(made.parts if isinstance(made, Joined) else (made,)), _bare(array)
    is_first = isinstance(before, Operation) and before.operands == (neutral_of(combine.name, dtype),)
    if isinstance(before, Scattered) and (before.name, before.folded) == (combine.name, axes.shape_of(scattered[0])):
        scattered, is_first = [before.operand, *scattered], True
    pairs = [operand for each in scattered if isinstance(each, Operation) for operand in each.operands]
    if len({axes.shape_of(each) for each in scattered}) > 1 or len(pairs) < 2 * len(scattered):
        raise NotExpressible("elements of different shapes that are combined one by one")
    operand = apply(SCATTER, pairs, axes)
    found = Scattered(np.ones(1, dtype), name=combine.name, operand=operand, folded=axes.shape_of(operand))
    axes.note(found, shape)
    result: Node = found if is_first else apply(combine, [array, found], axes)
    return result


def _bare(value: Node) -> Node:
    """Return what is converted to the dtype that it has."""
    while isinstance(value, Operation) and value.name == "convert" and isinstance(value.operands[0], Node):
        if dtype_of(value.operands[0]) != dtype_of(value):
            break
        value = value.operands[0]
    return value


def _coordinates(axes: Axes, shape: Shape, parts: Sequence[Any]) -> tuple[list[Node | None], list[bool], int]:
    """Return what an index picks along each axis, whether arrays pick there, and the rank of all."""
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
    return coordinates, are_picked, total


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


def _gathered(axes: Axes, value: Node, coordinates: Sequence[Node | None], are_picked: Sequence[bool]) -> Node:
    """Return the elements of an input at coordinates."""
    source = value.operand if isinstance(value, Reshaped) else value
    if not isinstance(source, Input):
        raise NotExpressible("an index of what is computed")
    shape = axes.shape_of(value)
    strides = tuple(Strides(-1, 1, -1, at) for axis in shape for at in axis)
    start = Start(np.ones(1, dtype_of(value)), operand=value, strides=strides)
    axes.note(start, ())
    found: Node = apply(GATHER, [start, _place(axes, shape, coordinates, are_picked)], axes)
    return found


def _place(axes: Axes, shape: Shape, coordinates: Sequence[Node | None], are_picked: Sequence[bool]) -> Node:
    """Return the places of coordinates in an array, of which those that are picked are checked."""
    if not are_picked[-1]:
        raise NotExpressible("an index of rows")
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
    found: Node = functools.reduce(add, whole, place)
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
