"""Express views of arrays with axes of length 1 or of other lengths, and lengths as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression import selection
from pykernels.kernel.expression.array_nodes import Counted, Extent, Part, Reshaped, Sliced, View, require_known
from pykernels.kernel.expression.axes import NUMBER, UNIT, Axes, Axis, Shape
from pykernels.kernel.expression.lengths import FLOOR_DIVIDE, MULTIPLY, calculation
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, Operation
from pykernels.kernel.expression.selection import view


def base_of(value: Any) -> Any:
    """Return the array behind a view; any other value is its own base."""
    while isinstance(value, (Reshaped, Sliced, View)):
        value = value.base if isinstance(value, Part) else value.operand
    return value


def owner_of(value: Any) -> Any:
    """Return the array that has the elements of a value, behind views and behind parts of complex numbers."""
    value = base_of(value)
    while isinstance(value, Operation) and value.name in ("real", "imag"):
        value = base_of(value.operands[0])
    return value


# ---- lengths


def count(axes: Axes, shape: Shape) -> Any:
    """Return the number of elements of an array of this shape."""
    return axes.once(Extent(1, shape=shape), shape) if any(shape) else 1


def lengths(axes: Axes, value: Node) -> tuple[Any, ...]:
    """Return the shape of an array as a kernel sees it."""
    return tuple(count(axes, (axis,)) for axis in axes.shape_of(value))


#: Functions that return these attributes of an array.
ATTRIBUTES: Mapping[str, Callable[[Axes, Node], Any]] = {
    "shape": lengths,
    "size": lambda axes, value: count(axes, axes.shape_of(value)),
    "ndim": lambda axes, value: len(axes.shape_of(value)),
}


# ---- functions and methods: they take the array, then the other arguments of a call


def flatten(name: str, axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the array itself for a ``flatten`` or ``ravel`` that does not change it."""
    if len(axes.shape_of(value)) != 1 or positional:
        raise NotExpressible(f"the method {name!r}")
    return value


def squeeze(axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the array with fewer axes of length 1."""
    shape = axes.shape_of(value)
    gone = places_of(_axis("squeeze", positional, keywords), len(shape))
    if any(shape[at] for at in gone):
        raise NotExpressible("a squeeze of an axis that may be longer than 1")
    return view(axes, value, tuple(axis for at, axis in enumerate(shape) if at not in gone))


def _axis(name: str, positional: list[Any], keywords: dict[str, Any]) -> Any:
    """The only argument."""
    given = dict(zip(("axis",), positional)) | keywords
    if len(positional) + len(keywords) != 1 or set(given) != {"axis"}:
        raise NotExpressible(f"a call of {name} with these arguments")
    return given["axis"]


def reshape(axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the array with other axes."""
    given = positional[0] if len(positional) == 1 and isinstance(positional[0], tuple) else tuple(positional)
    if keywords or not given:
        raise NotExpressible("a reshape with these arguments")
    for length in given:
        require_known(length)
    shape = axes.shape_of(value)
    with_units = _with_units(shape, given)
    if with_units is not None:
        return view(axes, value, with_units)
    known = [calculation(length) for length in given if not _is_rest(length)]
    if len(given) - len(known) > 1:
        raise NotExpressible("a reshape to several axes of unknown length")
    rest = [*axes.steps_of(shape), NUMBER, 1]
    for steps in known:
        rest += [*steps, MULTIPLY]
    rest.append(FLOOR_DIVIDE)
    shape = axes.of_lengths([rest if _is_rest(length) else calculation(length) for length in given])
    if axes.separates_views and not isinstance(base_of(value), Input):
        value = selection.rearrange(axes, value, range(len(axes.shape_of(value))), {}, moves_axes=True)
    return selection.reshape(axes, value, shape)


def count_to(axes: Axes, length: Extent) -> Node:
    """Return the numbers 0, 1, ... below a length."""
    if len(length.shape) != 1:
        raise NotExpressible("a range of the length of several axes")
    made = Counted(np.arange(1))
    axes.note(made, length.shape)
    return axes.once(made, length)


def _with_units(shape: Shape, lengths: Sequence[Any]) -> Shape | None:
    """Return the shape after a reshape that only adds and removes axes of length 1, or None."""
    longer = [axis for axis in shape if axis]
    made = []
    for length in lengths:
        if (not isinstance(length, Node) and length == 1) or (_is_rest(length) and not longer):
            made.append(UNIT)
        elif longer and ((_is_rest(length) and len(longer) == 1) or _is_length(length, longer[0])):
            made.append(longer.pop(0))
        else:
            return None
    return None if longer else tuple(made)


def places_of(axis: Any, rank: int) -> frozenset[int]:
    """Return the positions of axes, counted from the first."""
    if axis is None:
        return frozenset(range(rank))
    places = axis if isinstance(axis, tuple) else (axis,)
    for each in places:
        require_known(each)
    if not all(isinstance(at, (int, np.integer)) and -rank <= at < rank for at in places):
        raise NotExpressible("an axis that the array does not have")
    found = frozenset(int(at) % rank for at in places)
    if len(found) != len(places):
        raise NotExpressible("an axis twice")
    return found


def _is_rest(length: Any) -> bool:
    return not isinstance(length, Node) and bool(length == -1)


def _is_length(value: Any, axis: Axis) -> bool:
    return isinstance(value, Extent) and value.shape == (axis,)
