"""Ops that move elements: other axes, parts, and several tensors as one."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

import numpy as np

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.context import get_current_context, op_debug_context
from pykernels.vendors.popxl.dtypes import check_dtype, dtype
from pykernels.vendors.popxl.nodes import integers, node
from pykernels.vendors.popxl.ops.utils import check_like, handle_axes, handle_negative_axis
from pykernels.vendors.popxl.tensor import Tensor, constant

__all__ = [
    *("concat", "flatten", "gather", "init", "onehot", "reshape", "slice", "split", "squeeze", "subsample"),
    *("tied_gather", "transpose"),
]

Bounds = int | Iterable[int | None] | None


@op_debug_context
def transpose(t: Tensor, permutation: Iterable[int] | None = None) -> Tensor:
    """The axes in another order, the reverse one if none is given; CallError if it is no order of the axes."""
    get_current_context().graph.check_holds(t=t)
    order = [*reversed(range(t.rank))] if permutation is None else [handle_negative_axis(t, at) for at in permutation]
    if sorted(order) != list(range(t.rank)):
        raise CallError(f"transpose: {permutation!r} is no order of the axes of {t!r}")
    return node("Transpose", t, perm=order)


@op_debug_context
def reshape(t: Tensor, shape: Iterable[int]) -> Tensor:
    """The elements in another shape; one axis may be -1. CallError if their number is another."""
    get_current_context().graph.check_holds(t=t)
    sizes = [int(size) for size in shape]
    try:
        sizes = list(np.broadcast_to(np.empty(()), t.shape).reshape(sizes).shape)
    except ValueError:
        raise CallError(
            f"reshape: {t!r} has {t.nelms} elements, which the shape {tuple(sizes)} does not have"
        ) from None
    return node("Reshape", t, integers(*sizes), allowzero=1)


@op_debug_context
def flatten(t: Tensor) -> Tensor:
    """The elements on one axis."""
    return reshape(t, (-1,) if 0 not in t.shape else (0,))


@op_debug_context
def squeeze(t: Tensor, axes: Iterable[int] | None = None) -> Tensor:
    """The tensor without axes of length 1: all, or these. CallError if one of these is longer."""
    get_current_context().graph.check_holds(t=t)
    gone = [at for at, size in enumerate(t.shape) if size == 1] if axes is None else handle_axes(t, axes)
    for at in gone:
        if t.shape[at] != 1:
            raise CallError(f"squeeze: axis {at} of {t!r} has the length {t.shape[at]}; it must have 1")
    return reshape(t, [size for at, size in enumerate(t.shape) if at not in gone])


@op_debug_context
def slice(
    t: Tensor, start: Bounds = None, stop: Bounds = None, step: Bounds = None, axis: int | Iterable[int] | None = None
) -> Tensor:
    """A part of the tensor, as Python's slices give it.

    Parameters
    ----------
    t : Tensor
    start, stop, step : int or iterable of int or None
        For every axis; None as in Python's slices.
    axis : int or iterable of int, optional
        The axes that these are for; the first ones without it.
    """
    get_current_context().graph.check_holds(t=t)
    bounds = [_listed(each) for each in (start, stop, step)]
    count = max(map(len, bounds))
    axes = [axis] if isinstance(axis, int) else list(range(count) if axis is None else axis)
    count = max(count, len(axes))
    filled = [each * count if each == [None] else each for each in bounds]
    if len(axes) != count or any(len(each) != count for each in filled):
        raise CallError(f"slice: start, stop, step and axis are not as many: {start!r}, {stop!r}, {step!r}, {axis!r}")
    whole = [builtins.slice(None)] * t.rank
    for at, *ends in zip(axes, *filled):
        if ends[2] == 0:
            raise CallError("slice: step is 0")
        whole[handle_negative_axis(t, at)] = builtins.slice(*ends)
    return _sliced(t, whole)


@op_debug_context
def subsample(t: Tensor, strides: int | Iterable[int]) -> Tensor:
    """Every n-th element along every axis, or along the first ones."""
    get_current_context().graph.check_holds(t=t)
    steps = [strides] * t.rank if isinstance(strides, int) else list(strides)
    if len(steps) > t.rank or any(step < 1 for step in steps):
        raise CallError(f"subsample: strides are {strides!r}; {t!r} needs {t.rank} positive integers")
    return _sliced(t, [builtins.slice(None, None, step) for step in steps])


@op_debug_context
def concat(ts: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Tensors behind one another along an axis."""
    tensors = list(ts)
    if not tensors:
        raise CallError("concat: there is no tensor")
    check_like(**{f"ts[{at}]": t for at, t in enumerate(tensors)})
    return node("Concat", *tensors, axis=handle_negative_axis(tensors[0], axis))


@op_debug_context
def split(t: Tensor, splits: int | list[int], axis: int = 0) -> tuple[Tensor, ...]:
    """The tensor in parts along an axis: as many equal ones, or ones of these lengths."""
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
    """Elements by their indices along an axis, as ``numpy.take``; an index that there is not fails the run."""
    if zero_OOR:
        raise CallError("gather: zero_OOR=True is not provided by pykernels.vendors.popxl")
    get_current_context().graph.check_holds(t=t, indices=indices)
    # ONNX takes signed ones only.
    at = indices if indices.dtype.name in ("int32", "int64") else node("Cast", indices, to=7)
    return node("Gather", t, at, axis=handle_negative_axis(t, axis))


tied_gather = gather


@op_debug_context
def onehot(t: Tensor, num_classes: Tensor, values: Tensor, axis: int) -> Tensor:
    """For every index a new axis with ``values[1]`` at that index, and ``values[0]`` elsewhere."""
    return node("OneHot", t, num_classes, values, axis=axis)


@op_debug_context
def init(
    shape: Iterable[int],
    dtype: dtype,
    name: str | None = None,
    init_type: str = "zero",
    meta_shape: Iterable[int] | None = None,
) -> Tensor:
    """A tensor of zeros, which may be changed in place; "undef" gives zeros, too."""
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
            # Before the first element is -1 for Python, which is the last one for ONNX.
            bounds.append((start, stop if stop >= 0 else -size - 1, at, step))
    if not bounds:
        return node("Identity", t)
    return node("Slice", t, *(integers(*column) for column in zip(*bounds)))
