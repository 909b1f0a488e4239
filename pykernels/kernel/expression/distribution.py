"""Apply elementwise functions to what is joined: to each of its parts, and to the elements of others that meet it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pykernels.kernel.expression import construction
from pykernels.kernel.expression.array_nodes import Joined
from pykernels.kernel.expression.axes import NUMBER, Axes
from pykernels.kernel.expression.joining import converted, join
from pykernels.kernel.expression.lengths import FLOOR_DIVIDE, MAXIMUM, MULTIPLY, SUBTRACT, length_of
from pykernels.kernel.expression.nodes import Node, NotExpressible, Operand, dtype_of, is_array
from pykernels.kernel.expression.number_rules import is_chosen_safely
from pykernels.kernel.expression.operations import Function
from pykernels.kernel.expression.selection import Pick, opened, rearrange


def apply(function: Function, operands: Sequence[Any], axes: Axes) -> Any:
    """Apply an elementwise function, as `construction.apply` does."""
    operands = [opened(axes, operand) for operand in operands]
    joined = next((operand for operand in operands if isinstance(operand, Joined)), None)
    if joined is None:
        return construction.apply(function, operands, axes)
    split = zip(*(_split(axes, operand, joined) for operand in operands))
    return join(axes, [apply(function, each, axes) for each in split], joined.axis)


def convert(value: Node, sample: Any, axes: Axes) -> Node:
    """Convert a value to the type of the sample."""
    value = opened(axes, value)
    if isinstance(value, Joined):
        return converted(axes, value, np.asarray(sample).dtype)
    return construction.convert(value, sample, axes)


def choose(test: Node, chosen: Operand, otherwise: Operand, axes: Axes) -> Any:
    """Return a choice between two values on a number that is known at run time only.

    Raises
    ------
    NotExpressible
        The number or the values do not allow it.
    """
    same = is_array(chosen) == is_array(otherwise) and dtype_of(chosen) == dtype_of(otherwise)
    if is_array(test) or not same or axes.shape_of(chosen) != axes.shape_of(otherwise):
        raise NotExpressible("a choice between things of different kinds")
    if not (is_chosen_safely(chosen) and is_chosen_safely(otherwise)):
        raise NotExpressible("a choice of what may raise an exception")
    return apply(Function("where", lambda test, a, b: a), [test, chosen, otherwise], axes)


def _split(axes: Axes, operand: Any, joined: Joined) -> list[Any]:
    """Return what meets each part of what is joined."""
    if isinstance(operand, Joined) and operand.axis == joined.axis:
        return _paired(axes, operand, joined)
    shape = axes.shape_of(operand)
    at = len(shape) + joined.axis
    if at < 0 or not shape[at]:
        return [operand] * len(joined.parts)
    whole = axes.shape_of(joined)[joined.axis]
    total, common = length_of(*whole), length_of(*(whole | shape[at]))
    # What is joined is broadcast only if a single part has an element: that part is, as often as `times` says.
    distance = [*total, NUMBER, 1, SUBTRACT, NUMBER, 1, *total, SUBTRACT, MAXIMUM]
    (times,), (from_one,) = axes.add([[*common, *total, NUMBER, 1, MAXIMUM, FLOOR_DIVIDE], distance])
    axes.equal.append(((whole, frozenset({from_one})), (whole | shape[at], frozenset({from_one}))))
    found = []
    for part, first in zip(joined.parts, joined.firsts):
        own_steps, first_steps = (
            [*length_of(*each), *length_of(times), MULTIPLY] for each in (axes.shape_of(part)[joined.axis], (first,))
        )
        (own,), (begin,) = axes.add([own_steps, first_steps])
        pick = Pick(whole | shape[at], begin, 1, own)
        found.append(rearrange(axes, operand, range(len(shape)), {at: pick}, moves_axes=False))
    return found


def _paired(axes: Axes, operand: Joined, joined: Joined) -> list[Any]:
    """Return the parts of an array that is joined from parts of the same lengths."""
    if len(operand.parts) != len(joined.parts):
        raise NotExpressible("arrays that are joined at different places")
    for parts in zip(operand.parts, joined.parts):
        own, other = (axes.shape_of(part)[joined.axis] for part in parts)
        if len({axes.class_of(position) for position in own | other}) > 1:
            raise NotExpressible("arrays that may be joined at different places")
        if own != other:
            axes.equal.append(((own,), (other,)))
    return list(operand.parts)
