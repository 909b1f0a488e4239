"""Express views of arrays (axes of length 1, slices, other axes), and lengths as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Counted, Extent, Reshaped, Sliced, View, require_known
from pykernels.kernel.expression.axes import CALCULATIONS, COUNT, NUMBER, UNIT, Axes, Axis, Shape, encoded
from pykernels.kernel.expression.nodes import Input, Node, NotExpressible, Operation, dtype_of

_ADD, _SUBTRACT = CALCULATIONS["add"], CALCULATIONS["subtract"]
_MULTIPLY, _FLOOR_DIVIDE = CALCULATIONS["multiply"], CALCULATIONS["floor_divide"]
_MAXIMUM, _MINIMUM = CALCULATIONS["maximum"], CALCULATIONS["minimum"]


def view(axes: Axes, value: Node, shape: Shape) -> Node:
    """Return the same elements with axes of length 1 added or removed."""
    # A 0-d result of an operation is a NumPy number.
    sample = np.ones(1, dtype_of(value)) if shape else dtype_of(value).type(1)
    made = View(sample, operand=value)
    axes.note(made, shape)
    return axes.once(made, value, shape)


def base_of(value: Any) -> Any:
    """Return the array behind a view; any other value is its own base."""
    while isinstance(value, (Reshaped, Sliced, View)):
        value = value.operand
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
    """Return the array itself for a ``flatten``, ``ravel`` or ``transpose`` that does not change it."""
    if len(axes.shape_of(value)) != 1 or positional:
        raise NotExpressible(f"the method {name!r}")
    return value


def expand_dims(axes: Axes, value: Node, positional: list[Any], keywords: dict[str, Any]) -> Node:
    """Return the array with more axes of length 1."""
    axis = _axis("expand_dims", positional, keywords)
    shape = list(axes.shape_of(value))
    added = places_of(axis, len(shape) + (len(axis) if isinstance(axis, tuple) else 1))
    for at in sorted(added):
        shape.insert(at, UNIT)
    return view(axes, value, tuple(shape))


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
    lengths = [_calculation(length) for length in given if not _is_rest(length)]
    if len(given) - len(lengths) > 1:
        raise NotExpressible("a reshape to several axes of unknown length")
    rest = [COUNT, *encoded(shape), NUMBER, 1]
    for length in lengths:
        rest += [*length, _MULTIPLY]
    rest.append(_FLOOR_DIVIDE)
    known = iter(lengths)
    made = Reshaped(np.ones(1, dtype_of(value)), operand=value)
    axes.note(made, axes.add([rest if _is_rest(length) else next(known) for length in given]))
    return axes.once(made, value, *given)


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


def _calculation(length: Any) -> list[int]:
    """Return the steps that compute a length, for `Axes.lengths`."""
    if isinstance(length, Extent):
        return [COUNT, *encoded(length.shape)]
    if isinstance(length, Operation) and length.name in CALCULATIONS and length.dtype.kind == "i":
        steps = [step for operand in length.operands for step in _calculation(operand)]
        return [*steps, CALCULATIONS[length.name]]
    if isinstance(length, (int, np.integer)) and 0 <= length < 2**31:
        return [NUMBER, int(length)]
    raise NotExpressible("a reshape to lengths that are no simple numbers")


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


# ---- indices


def index(axes: Axes, value: Node, given: Sequence[Any]) -> Node:
    """Return ``x[:, None]``, ``x[..., 1:]``, ``x[0]`` and the like."""
    parts = list(map(_checked, given))
    left = list(axes.shape_of(value))
    n_axes = sum(part is not None and part is not Ellipsis for part in parts)
    if n_axes > len(left) or parts.count(Ellipsis) > 1:
        raise NotExpressible("an index that does not fit")
    at = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    parts[at : at + 1] = [slice(None)] * (len(left) - n_axes)
    if all(part is None or part == slice(None) for part in parts):
        return view(axes, value, tuple(UNIT if part is None else left.pop(0) for part in parts))
    if not isinstance(value, Input):
        raise NotExpressible("an index of what is computed")
    sliced, shape = [], []
    for part in parts:
        if part is None:
            shape.append(UNIT)
            continue
        first, step, own = _sliced(axes, left.pop(0), part)
        if own is not None:
            shape.append(own)
        sliced.append((first, step, -1 if own is None else min(own)))
    made = Sliced(np.ones(1, dtype_of(value)), operand=value, parts=tuple(sliced))
    axes.note(made, tuple(shape))
    return made


def _checked(part: Any) -> Any:
    """Return a part of an index, if it can be expressed."""
    for bound in (part.start, part.stop, part.step) if isinstance(part, slice) else (part,):
        require_known(bound)
    if isinstance(part, slice):
        if not (part.step is None or (isinstance(part.step, int) and part.step > 0)):
            raise NotExpressible("a slice that steps backwards")
    elif not (part is None or part is Ellipsis or (isinstance(part, (int, Node)) and not isinstance(part, bool))):
        raise NotExpressible("an index")
    return part


def _sliced(axes: Axes, axis: Axis, part: Any) -> tuple[int, int, Axis | None]:
    """Return the position of the first index, the step, and the new axis."""
    length = [COUNT, *encoded((axis,))]
    if part == slice(None):
        # A new axis each time: ``x[:, None, 0] - x[None, :, 0]`` has two.
        (own,) = axes.add([length])
        return -1, 1, own
    if not isinstance(part, slice):
        first = _position(part, length)
        # An index past the end makes the second of these negative, which is an error.
        (made, _) = axes.add([first, [*length, NUMBER, 1, _SUBTRACT, *first, _SUBTRACT]])
        return min(made), 1, None
    step = part.step or 1
    first = [NUMBER, 0] if part.start is None else _bound(part.start, length)
    last = length if part.stop is None else _bound(part.stop, length)
    count = [*last, *first, _SUBTRACT, NUMBER, step - 1, _ADD, NUMBER, step, _FLOOR_DIVIDE, NUMBER, 0, _MAXIMUM]
    made, own = axes.add([first, count])
    return min(made), step, own


def _position(index: Any, length: list[int]) -> list[int]:
    """Return an index, counted from the first."""
    if isinstance(index, int) and index < 0:
        return [*length, NUMBER, -index, _SUBTRACT]
    return _calculation(index)


def _bound(bound: Any, length: list[int]) -> list[int]:
    """Return an end of a slice, which may lie beyond the array."""
    return [*_position(bound, length), NUMBER, 0, _MAXIMUM, *length, _MINIMUM]
