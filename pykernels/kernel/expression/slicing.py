"""Express indices of arrays, and functions that move axes or reverse them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence
from typing import Any

from pykernels.kernel.expression import gathering
from pykernels.kernel.expression.array_nodes import require_known
from pykernels.kernel.expression.axes import NUMBER, UNIT, Axes, Axis
from pykernels.kernel.expression.construction import apply
from pykernels.kernel.expression.joining import join
from pykernels.kernel.expression.lengths import (
    ADD,
    FLOOR_DIVIDE,
    MAXIMUM,
    SUBTRACT,
    bound,
    calculation,
    length_of,
    position,
)
from pykernels.kernel.expression.nodes import Node, NotExpressible
from pykernels.kernel.expression.operations import BINARY
from pykernels.kernel.expression.selection import Pick, rearrange, view
from pykernels.kernel.expression.views import count, places_of

_REVERSED = slice(None, None, -1)


def index(axes: Axes, value: Node, given: Sequence[Any]) -> Node:
    """Return ``x[:, None]``, ``x[..., 1:]``, ``x[0]`` and the like."""
    if gathering.is_gathering(axes, given):
        return gathering.index(axes, value, given)
    parts = list(map(_checked, given))
    shape = axes.shape_of(value)
    n_axes = sum(part is not None and part is not Ellipsis for part in parts)
    if n_axes > len(shape) or parts.count(Ellipsis) > 1:
        raise NotExpressible("an index that does not fit")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    parts[at : at + 1] = [slice(None)] * (len(shape) - n_axes)
    taken = [part for part in parts if part is not None]
    picks = {at: _pick(axes, shape[at], part) for at, part in enumerate(taken) if part != slice(None) and shape[at]}
    for axis, part in zip(shape, taken):
        if not axis and len(range(1)[part] if isinstance(part, slice) else (range(1)[part],)) != 1:
            raise NotExpressible("a part without elements of an axis of length 1")
    moves_axes = not all(isinstance(part, slice) for part in parts)
    made = rearrange(axes, value, range(len(shape)), picks, moves_axes=moves_axes)
    left = list(axes.shape_of(made))
    found = []
    for part in parts:
        axis = UNIT if part is None else left.pop(0)
        if part is None or isinstance(part, slice):
            found.append(axis)
    return made if tuple(found) == axes.shape_of(made) else view(axes, made, tuple(found))


def _checked(part: Any) -> Any:
    """Return a part of an index, if it can be expressed."""
    for each in (part.start, part.stop, part.step) if isinstance(part, slice) else (part,):
        require_known(each)
    if isinstance(part, slice):
        if not (part.step is None or (isinstance(part.step, int) and 0 < abs(part.step) < 2**31)):
            raise NotExpressible("a slice with this step")
    elif not (part is None or part is Ellipsis or (isinstance(part, (int, Node)) and not isinstance(part, bool))):
        raise NotExpressible("an index")
    return part


def _pick(axes: Axes, axis: Axis, part: Any) -> Pick:
    """Return what an index or a slice picks from an axis."""
    length = length_of(*axis)
    if not isinstance(part, slice):
        first = position(part, length)
        # An index past the end makes the second of these negative, which is an error.
        ((at,), _) = axes.add([first, [*length, NUMBER, 1, SUBTRACT, *first, SUBTRACT]])
        return Pick(axis, at, 1, -1)
    step = part.step or 1
    least, most = ([NUMBER, 0], length) if step > 0 else ([NUMBER, -1], [*length, NUMBER, 1, SUBTRACT])
    first, last = (least, most) if step > 0 else (most, least)
    if part.start is not None:
        first = bound(part.start, length, least, most)
    if part.stop is not None:
        last = bound(part.stop, length, least, most)
    distance = [*last, *first, SUBTRACT] if step > 0 else [*first, *last, SUBTRACT]
    found = [*distance, NUMBER, abs(step) - 1, ADD, NUMBER, abs(step), FLOOR_DIVIDE, NUMBER, 0, MAXIMUM]
    ((at,), (own,)) = axes.add([[*first, NUMBER, 0, MAXIMUM], found])
    return Pick(axis, at, step, own)


# ---- functions and methods: they take the array, then the other arguments of a call


def expand_dims(space: Axes, value: Node, axis: Any) -> Node:
    """Return an array with more axes of length 1."""
    rank = len(space.shape_of(value)) + len(_several(axis))
    added = places_of(axis, rank)
    return index(space, value, [None if at in added else slice(None) for at in range(rank)])


def permute(space: Axes, value: Node, order: Sequence[int]) -> Node:
    """Return an array with its axes in an order."""
    rank = len(space.shape_of(value))
    places = [_place(each, rank) for each in order]
    if sorted(places) != list(range(rank)):
        raise NotExpressible("axes that are no order of the array's")
    return rearrange(space, value, places, {}, moves_axes=True)


def transpose(space: Axes, value: Node, axes: Any = None) -> Node:
    """Return an array with its axes reversed, or in a given order."""
    return permute(space, value, range(len(space.shape_of(value)))[::-1] if axes is None else axes)


def transpose_method(space: Axes, value: Node, *order: Any) -> Node:
    """Return what the method `transpose` does, which takes the order as one argument or as several."""
    return transpose(space, value, order[0] if len(order) == 1 and not isinstance(order[0], int) else order or None)


def swapaxes(space: Axes, value: Node, axis1: Any, axis2: Any) -> Node:
    """Return an array with two axes swapped."""
    order = list(range(len(space.shape_of(value))))
    first, second = _place(axis1, len(order)), _place(axis2, len(order))
    order[first], order[second] = order[second], order[first]
    return permute(space, value, order)


def moveaxis(space: Axes, value: Node, source: Any, destination: Any) -> Node:
    """Return an array with some axes moved to other places."""
    rank = len(space.shape_of(value))
    sources, places = ([_place(at, rank) for at in _several(each)] for each in (source, destination))
    if len(sources) != len(places) or len(set(sources)) != len(sources):
        raise NotExpressible("axes that cannot be moved")
    order = [at for at in range(rank) if at not in sources]
    for place, at in sorted(zip(places, sources)):
        order.insert(place, at)
    return permute(space, value, order)


def flip(space: Axes, m: Node, axis: Any = None) -> Node:
    """Return an array with its elements reversed along axes."""
    rank = len(space.shape_of(m))
    places = places_of(axis, rank)
    return index(space, m, [_REVERSED if at in places else slice(None) for at in range(rank)])


def _place(axis: Any, rank: int) -> int:
    if axis is None or isinstance(axis, tuple):
        raise NotExpressible("an axis that is no number")
    (found,) = places_of(axis, rank)
    return found


def _several(axis: Any) -> tuple[Any, ...]:
    return axis if isinstance(axis, tuple) else (axis,)


# ---- functions that join and split arrays


def concatenate(space: Axes, arrays: tuple[Any, ...], axis: Any = 0) -> Node:
    """Return arrays joined along an axis that they have."""
    if not all(map(space.has, arrays)) or axis is None:
        raise NotExpressible("joined values that are no arrays")
    rank = len(space.shape_of(arrays[0]))
    return join(space, arrays, _place(axis, rank) - rank)


def stack(space: Axes, arrays: tuple[Any, ...], axis: Any = 0) -> Node:
    """Return arrays joined along a new axis."""
    if not all(map(space.has, arrays)):
        raise NotExpressible("stacked values that are no arrays")
    return concatenate(space, tuple(expand_dims(space, each, axis) for each in arrays), axis)


def hstack(space: Axes, tup: tuple[Any, ...]) -> Node:
    """Return arrays joined along the second axis, or the only one."""
    ranks = {len(space.shape_of(each)) for each in tup}
    return concatenate(space, tup, 0 if ranks == {1} else 1)


def vstack(space: Axes, tup: tuple[Any, ...]) -> Node:
    """Return arrays joined along the first axis, as rows if they have one axis."""
    rows = (expand_dims(space, each, 0) if len(space.shape_of(each)) == 1 else each for each in tup)
    return concatenate(space, tuple(rows), 0)


def roll(space: Axes, a: Node, shift: Any, axis: Any = None) -> Node:
    """Return an array with its last elements along an axis moved to the front."""
    rank = len(space.shape_of(a))
    if isinstance(shift, tuple) or isinstance(axis, tuple):
        shifts, axes = _several(shift), _several(axis)
        if 1 not in (len(shifts), len(axes)) and len(shifts) != len(axes):
            raise NotExpressible("a roll by numbers that do not fit its axes")
        for at in range(max(len(shifts), len(axes)) if shifts and axes else 0):
            a = roll(space, a, shifts[at % len(shifts)], axes[at % len(axes)])
        return a
    require_known(shift)
    if not isinstance(shift, int) or (axis is None and rank != 1):
        raise NotExpressible("a roll along all axes, or by what is no whole number")
    at = _place(-1 if axis is None else axis, rank)
    length = count(space, space.shape_of(a)[at : at + 1])
    turns = _calculated(space, ast.FloorDiv, shift, length)
    cut = _calculated(
        space, ast.Sub, _calculated(space, ast.Mult, _calculated(space, ast.Add, turns, 1), length), shift
    )
    parts = (index(space, a, [*[slice(None)] * at, part]) for part in (slice(cut, None), slice(cut)))
    return a if length == 1 else concatenate(space, tuple(parts), at)


def split(space: Axes, ary: Node, indices_or_sections: Any, axis: Any = 0) -> tuple[Node, ...]:
    """Return the parts of an array between indices along an axis, or a number of equal parts."""
    shape, sections = space.shape_of(ary), indices_or_sections
    at = _place(axis, len(shape))
    bounds: list[Any] = [None, *_several(sections), None]
    if isinstance(sections, int):
        if sections < 1:
            raise NotExpressible("a split into no parts")
        size = _calculated(space, ast.FloorDiv, count(space, (shape[at],)), sections)
        bounds = [_calculated(space, ast.Mult, size, each) for each in range(sections + 1)]
        # Elements that are left over make this negative, which is an error.
        space.add([[*calculation(bounds[-1]), *length_of(*shape[at]), SUBTRACT]])
    parts = (slice(first, last) for first, last in itertools.pairwise(bounds))
    return tuple(index(space, ary, [*[slice(None)] * at, part]) for part in parts)


def _calculated(space: Axes, operator: type[ast.operator], first: Any, second: Any) -> Any:
    return apply(BINARY[operator], [first, second], space)
