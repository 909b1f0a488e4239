"""Choose other values for attributes than those in the samples of an op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.attributes import parse_value
from pykernels.define.definition import OpDef

__all__ = ["other_attributes"]

_LISTS = (AttrType.SHAPE, AttrType.LIST_INT32, AttrType.LIST_INT64, AttrType.LIST_FLOAT)


def other_attributes(op: OpDef, attributes: dict[str, Any], words: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """`attributes` with another value for one of them, in turn; which of them the definition accepts is not known here.

    Strings become one of `words`.
    """
    for attribute in op.attributes:
        value = attributes[attribute.name]
        seen = [value]
        for other in words if attribute.type is AttrType.STRING else _others(attribute.type, value):
            try:
                parsed = parse_value(attribute.type, other)
            except ValueError:  # too large, or negative
                continue
            if parsed not in seen:
                seen.append(parsed)
                yield {**attributes, attribute.name: parsed}


def _others(type_: AttrType, value: Any) -> list[Any]:
    """Numbers on both sides of the value, of 0 and of 1, which many kernels treat in a way of their own."""
    if type_ is AttrType.BOOL:
        return [not value]
    if type_ in (AttrType.INT32, AttrType.INT64):
        return [0, 1, 2, -1, -2, value + 1, value - 1]
    if type_ in (AttrType.FLOAT, AttrType.DOUBLE):
        return [0.5, -0.5, 0.0, 1.0, 2.0, -value, 3 * value]
    if type_ is AttrType.DTYPE:
        return [dtypes.number_of(dtype) for dtype in (np.float32, np.float64, np.int32)]
    if type_ in _LISTS:
        return [[n + 1 for n in value], [-n for n in value], list(value[::-1]), list(value[1:])]
    return []
