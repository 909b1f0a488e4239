"""``tensor[...]``."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import op_debug_context
from pykernels.vendors.popxl.dtypes import DTYPES
from pykernels.vendors.popxl.ops import elementwise, shapes
from pykernels.vendors.popxl.tensor import Tensor, constant

__all__ = ["item"]


@op_debug_context("Tensor[...]")
def item(t: Tensor, key: Any) -> Tensor:
    """Elements of a tensor.

    Integers and slices choose parts, as NumPy's; tensors and arrays of integers are indices for `ops.gather`; those of
    booleans say which elements stay what they are, while others become 0.

    Raises
    ------
    TypeError, CallError
        The key is nothing of that; there is no such axis or index.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if all(_is_place(each) for each in keys):
        return _part(t, keys)
    if not isinstance(key, Tensor) and isinstance(key, Iterable) and not isinstance(key, (str, tuple)):
        key = constant(key)
    if isinstance(key, Tensor) and key.dtype.is_int:
        return shapes.gather(t, key)
    if isinstance(key, Tensor) and key.dtype is DTYPES["bool"]:
        return elementwise.where(key, t, constant(0, t.dtype))
    raise WrongType(f"{t!r}[{key!r}]: an index must be integers and slices, or a tensor of integers or booleans")


def _is_place(key: Any) -> bool:
    return isinstance(key, (builtins.slice, int, np.integer)) and not isinstance(key, bool)


def _part(t: Tensor, keys: tuple[Any, ...]) -> Tensor:
    if len(keys) > t.rank:
        raise CallError(f"{t!r} has {t.rank} axes, but {len(keys)} indices are given")
    slices, single = [], []
    for at, key in enumerate(keys):
        if isinstance(key, builtins.slice):
            slices.append(key)
            continue
        if not -t.shape[at] <= key < t.shape[at]:
            raise CallError(f"{t!r} has no index {key} on axis {at}")
        begin = int(key) % t.shape[at]
        slices.append(builtins.slice(begin, begin + 1))
        single.append(at)
    bounds = ([each.start for each in slices], [each.stop for each in slices], [each.step for each in slices])
    part = shapes.slice(t, *bounds) if keys else t
    return shapes.squeeze(part, single) if single else part
