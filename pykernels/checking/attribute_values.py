"""Other values for attributes than those that the samples of an op have."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pykernels import dtypes
from pykernels.abi import AttrType
from pykernels.attributes import parse_value
from pykernels.definition import OpDef
from pykernels.module import CPP_DEF, PY_KERNEL, OpModule

__all__ = ["other_attributes", "words_of"]

# Python's and C++'s strings of one word.
_WORD = re.compile(r"""["'](\w{1,20})["']""")
_NO_WORD = "no such word"

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


def words_of(module: OpModule, attributes: dict[str, Any], is_accepted: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Strings that attributes may be: those in the kernel file, and in the definition if it does not accept any.

    Parameters
    ----------
    module : OpModule
    attributes : dict
        Every attribute.
    is_accepted : callable
        Whether the definition accepts these instead.
    """
    names = [attribute.name for attribute in module.forward.attributes if attribute.type is AttrType.STRING]
    if not names:
        return []
    parts = [PY_KERNEL]
    if not any(is_accepted({**attributes, name: _NO_WORD}) for name in names):
        parts.append(CPP_DEF)
    texts = [module.files[part].read_text(encoding="utf-8") for part in parts]
    return list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))


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
