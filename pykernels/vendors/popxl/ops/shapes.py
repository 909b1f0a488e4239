"""Define ops that rearrange elements: reshape, transpose, slice, split, concatenate, gather and index."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import DTYPES, check_dtype, dtype
from pykernels.vendors.popxl.nodes import integers, node
from pykernels.vendors.popxl.ops import elementwise
from pykernels.vendors.popxl.ops.utils import check_like, handle_axes, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor, constant

Bounds = int | Iterable[int | None] | None


@op_debug_context
def transpose(t: Tensor, permutation: Iterable[int] | None = None) -> Tensor:
    """Permute the axes, by default in reverse order; raise CallError if `permutation` is not one of the axes."""
    get_current_context().graph.check_holds(t=t)
    order = [*reversed(range(t.rank))] if permutation is None else [handle_negative_axis(t, at) for at in permutation]
    if sorted(order) != list(range(t.rank)):
        raise CallError(f"transpose: {permutation!r} is not a permutation of the axes of {t!r}")
    # ONNX has no empty attributes.
    return node("Transpose", t, perm=order) if order else node("Identity", t)


@op_debug_context
def reshape(t: Tensor, shape: Iterable[int]) -> Tensor:
    """Return the elements in another shape, with at most one size of -1; raise CallError if their number differs."""
    get_current_context().graph.check_holds(t=t)
    sizes = [int(size) for size in shape]
    try:
        sizes = list(np.broadcast_to(np.empty(()), t.shape).reshape(sizes).shape)
    except ValueError:
        raise CallError(f"reshape: {t!r} has {t.nelms} elements, which do not fit the shape {tuple(sizes)}") from None
    return node("Reshape", t, integers(*sizes), allowzero=1)


@op_debug_context
def flatten(t: Tensor) -> Tensor:
    """Return the elements on a single axis."""
    return reshape(t, (-1,) if 0 not in t.shape else (0,))


@op_debug_context
def squeeze(t: Tensor, axes: Iterable[int] | None = None) -> Tensor:
    """Drop the given axes, by default all of length 1; raise CallError if one has another length."""
    get_current_context().graph.check_holds(t=t)
    gone = [at for at, size in enumerate(t.shape) if size == 1] if axes is None else handle_axes(t, axes)
    for at in gone:
        if t.shape[at] != 1:
            raise CallError(f"squeeze: axis {at} of {t!r} has length {t.shape[at]}; it must be 1")
    return reshape(t, [size for at, size in enumerate(t.shape) if at not in gone])


@op_debug_context
def slice(
    t: Tensor, start: Bounds = None, stop: Bounds = None, step: Bounds = None, axis: int | Iterable[int] | None = None
) -> Tensor:
    """Return a part of the tensor, as Python slices select it.

    Parameters
    ----------
    t : Tensor
    start, stop, step : int or iterable of int or None
        The bounds for each axis. None has the same meaning as in a Python slice.
    axis : int or iterable of int, optional
        The axes of the bounds, by default the first ones.
    """
    get_current_context().graph.check_holds(t=t)
    bounds = [_listed(each) for each in (start, stop, step)]
    count = max(map(len, bounds))
    axes = [axis] if isinstance(axis, int) else list(range(count) if axis is None else axis)
    count = max(count, len(axes))
    filled = [each * count if each == [None] else each for each in bounds]
    if len(axes) != count or any(len(each) != count for each in filled):
        raise CallError(f"slice: start, stop, step and axis differ in length: {start!r}, {stop!r}, {step!r}, {axis!r}")
    whole = [builtins.slice(None)] * t.rank
    for at, *ends in zip(axes, *filled):
        if ends[2] == 0:
            raise CallError("slice: step is 0")
        whole[handle_negative_axis(t, at)] = builtins.slice(*ends)
    return _sliced(t, whole)


@op_debug_context
def subsample(t: Tensor, strides: int | Iterable[int]) -> Tensor:
    """Return every n-th element along each axis, or along the first axes if `strides` lists fewer."""
    get_current_context().graph.check_holds(t=t)
    steps = [strides] * t.rank if isinstance(strides, int) else list(strides)
    if len(steps) > t.rank or any(step < 1 for step in steps):
        raise CallError(f"subsample: strides are {strides!r}; {t!r} needs {t.rank} positive integers")
    return _sliced(t, [builtins.slice(None, None, step) for step in steps])


@op_debug_context
def concat(ts: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along an axis."""
    tensors = list(ts)
    if not tensors:
        raise CallError("concat: no tensor is given")
    check_like(**{f"ts[{at}]": t for at, t in enumerate(tensors)})
    return node("Concat", *tensors, axis=handle_negative_axis(tensors[0], axis))


@op_debug_context
def split(t: Tensor, splits: int | list[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Split the tensor along an axis into `splits` equal parts, or into parts of the listed lengths."""
    get_current_context().graph.check_holds(t=t)
    at = handle_negative_axis(t, axis)
    size = t.shape[at]
    lengths = [size // splits] * splits if isinstance(splits, int) else list(splits)
    if sum(lengths) != size or min(lengths, default=0) < 0:
        raise CallError(f"split: axis {axis} of {t!r} cannot be split into {splits!r}")
    ends = [int(end) for end in np.cumsum(lengths)]
    return tuple(
        _sliced(t, [*[builtins.slice(None)] * at, builtins.slice(end - length, end)])
        for length, end in zip(lengths, ends)
    )


@op_debug_context
def gather(
    t: Tensor,
    indices: Tensor,
    axis: int = 0,
    available_memory_proportion: float | None = None,
    zero_OOR: bool = False,  # noqa: N803
) -> Tensor:
    """Select elements by index along an axis, as ``numpy.take`` does; an index out of range makes the run fail."""
    if zero_OOR:
        raise CallError("gather: zero_OOR=True is not provided by pykernels.vendors.popxl")
    get_current_context().graph.check_holds(t=t, indices=indices)
    # ONNX accepts only signed indices of 32 or 64 bits.
    at = indices if indices.dtype.name in ("int32", "int64") else node("Cast", indices, to=7)
    return node("Gather", t, at, axis=handle_negative_axis(t, axis))


tied_gather = gather


@op_debug_context
def onehot(t: Tensor, num_classes: Tensor, values: Tensor, axis: int) -> Tensor:
    """Encode each index as a new axis with ``values[1]`` at the index and ``values[0]`` elsewhere."""
    return node("OneHot", t, num_classes, values, axis=axis)


@op_debug_context
def init(
    shape: Iterable[int],
    dtype: dtype,
    name: str | None = None,
    init_type: str = "zero",
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """Return a tensor of zeros that ops can change in place; "undef" also means zeros."""
    check_dtype("init", dtype)
    if init_type not in ("zero", "undef") or meta_shape:
        raise CallError(
            f"init: init_type is {init_type!r}, meta_shape {meta_shape!r}; give 'zero' or 'undef', and none"
        )
    return node("Expand", constant(0, dtype), integers(*shape), name=name or "init")


def _listed(bounds: Bounds) -> list[int | None]:
    return [bounds] if bounds is None or isinstance(bounds, int) else list(bounds)


def _sliced(t: Tensor, slices: list[builtins.slice]) -> Tensor:
    bounds = []
    for at, (size, each) in enumerate(zip(t.shape, slices)):
        start, stop, step = each.indices(size)
        if (start, stop, step) != (0, size, 1):
            # The stop before the first element is -1 in Python, but to ONNX -1 means the last element.
            bounds.append((start, stop if stop >= 0 else -size - 1, at, step))
    if not bounds:
        return node("Identity", t)
    return node("Slice", t, *(integers(*column) for column in zip(*bounds)))


@op_debug_context("Tensor[...]")
def _item(t: Tensor, key: Any) -> Tensor:
    """Return the elements that a key selects; raise TypeError for a key of another type.

    Integers and slices select parts as in NumPy. Tensors and arrays of integers are indices for `ops.gather`. Tensors
    and arrays of booleans are masks: elements for which the mask is false become 0.
    """
    keys = key if isinstance(key, tuple) else (key,)
    if all(_is_place(each) for each in keys):
        return _part(t, keys)
    if not isinstance(key, Tensor) and isinstance(key, Iterable) and not isinstance(key, (str, tuple)):
        key = constant(key)
    if isinstance(key, Tensor) and key.dtype.is_int:
        return gather(t, key)
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
    part = slice(t, *bounds) if keys else t
    return squeeze(part, single) if single else part
