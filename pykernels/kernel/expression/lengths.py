"""Lengths and indices that are known at run time, as programs of `Axes.lengths`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykernels.kernel.expression.array_nodes import Extent
from pykernels.kernel.expression.axes import CALCULATIONS, COUNT, NUMBER, encoded
from pykernels.kernel.expression.nodes import NotExpressible, Operation

ADD, SUBTRACT = CALCULATIONS["add"], CALCULATIONS["subtract"]
MULTIPLY, FLOOR_DIVIDE = CALCULATIONS["multiply"], CALCULATIONS["floor_divide"]
MAXIMUM, MINIMUM = CALCULATIONS["maximum"], CALCULATIONS["minimum"]


def length_of(*positions: int) -> list[int]:
    """Return the steps that compute the broadcast length of axes."""
    return [COUNT, *encoded((frozenset(positions),))]


def calculation(length: Any) -> list[int]:
    """Return the steps that compute a number."""
    if isinstance(length, Extent):
        return [COUNT, *encoded(length.shape)]
    if isinstance(length, Operation) and length.name == "negative" and length.dtype.kind == "i":
        return [NUMBER, 0, *calculation(length.operands[0]), SUBTRACT]
    if isinstance(length, Operation) and length.name in CALCULATIONS and length.dtype.kind == "i":
        steps = [step for operand in length.operands for step in calculation(operand)]
        return [*steps, CALCULATIONS[length.name]]
    if isinstance(length, (int, np.integer)) and -(2**31) < length < 2**31:
        return [NUMBER, int(length)]
    raise NotExpressible("a length that is no simple number")


def position(index: Any, length: list[int]) -> list[int]:
    """Return the steps that compute an index, counted from the first element; a negative one counts from the end."""
    if isinstance(index, (int, np.integer)):
        return [*length, NUMBER, int(index), ADD] if index < 0 else calculation(index)
    steps = calculation(index)
    if isinstance(index, Extent):
        return steps
    is_negative = [NUMBER, 0, *steps, SUBTRACT, NUMBER, 0, MAXIMUM, NUMBER, 1, MINIMUM]
    return [*steps, *length, *is_negative, MULTIPLY, ADD]


def bound(index: Any, length: list[int], least: list[int], most: list[int]) -> list[int]:
    """Return the steps that compute an end of a slice, which may lie beyond the array."""
    return [*position(index, length), *least, MAXIMUM, *most, MINIMUM]
