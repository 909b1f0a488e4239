"""Read arguments that calls of NumPy's functions name in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

_Found = TypeVar("_Found")


def is_same_kind(number: bool | int | float, dtype: np.dtype) -> bool:
    """Whether NumPy converts a known number of Python to a dtype where a call names it."""
    fits = number >= 0 or dtype.kind != "u"
    return fits and np.can_cast(np.min_scalar_type(number), dtype, "same_kind")


def clip_operands(operands: Sequence[_Found], keywords: Mapping[str, _Found]) -> list[_Found | None] | None:
    """Return the array and the two bounds that a call of `np.clip` names, None for a missing one; None for others."""
    bounds = dict(zip(("min", "max"), operands[1:]))
    bounds |= {name.removeprefix("a_"): value for name, value in keywords.items()}
    if not bounds.keys() <= {"min", "max"} or len(operands) + len(keywords) != 1 + len(bounds):
        return None
    return [operands[0], bounds.get("min"), bounds.get("max")]
