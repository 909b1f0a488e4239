"""Views of arrays with other axes, lengths and strides, each by one intrinsic: they take hardly any time to compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from pykernels.kernel.numba.copying import emit_view, parts
from pykernels.kernel.numba.implementing import known

#: In place of an axis, a new one of length 1.
NEW = -1


@intrinsic(prefer_literal=True)
def arranged(typing_context: Any, array: nb.Type, axes: nb.Type) -> Any:
    """Return a view with the axes in this order. Those that are left out must have length 1; `NEW` adds one."""
    order = known(axes)
    returned = array.copy(ndim=len(order), layout=arranged_layout(array, order))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, lengths, strides = parts(context, builder, array, arguments[0])
        is_wrong = cgutils.false_bit
        for axis in set(range(array.ndim)) - set(order):
            is_wrong = builder.or_(is_wrong, builder.icmp_signed("!=", lengths[axis], lengths[axis].type(1)))
        with cgutils.if_unlikely(builder, is_wrong):
            context.call_conv.return_user_exc(builder, ValueError, ("the axis has another length than 1",))
        base = context.make_array(array)(context, builder, arguments[0])
        sizes, steps = arrange(lengths, strides, order, base.itemsize.type)
        return emit_view(context, builder, returned, base, data, sizes, steps)

    return returned(array, axes), generate


def arrange(lengths: Sequence[Any], strides: Sequence[Any], order: Sequence[int], type_: Any) -> Any:
    """Return the lengths and strides of a view with the axes in another order."""
    return [type_(1) if at == NEW else lengths[at] for at in order], [
        type_(0) if at == NEW else strides[at] for at in order
    ]


def arranged_layout(array: nb.Array, order: Sequence[int]) -> str:
    """Return the layout of a view of an array with the axes in another order."""
    kept = [at for at in order if at != NEW]
    if array.layout == "C" and kept == sorted(kept):
        return "C"
    if array.layout in ("C", "F") and kept == sorted(kept, reverse=True):
        return "F" if array.layout == "C" else "C"
    return "F" if array.layout == "F" and kept == sorted(kept) else "A"


@intrinsic(prefer_literal=True)
def sliced(typing_context: Any, array: nb.Type, axis: nb.Type, start: nb.Type, length: nb.Type) -> Any:
    """Return the view of `length` elements from `start` on along a known axis; they must be there."""
    at = known(axis)
    returned = sliced_type(array, at)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        begin, size = (context.cast(builder, *each, nb.intp) for each in zip(arguments[2:], (start, length)))
        return emit_slice(context, builder, array, base, at, begin, size)

    return returned(array, axis, start, length), generate


def sliced_type(array: nb.Array, axis: int) -> nb.Array:
    """Return the type of a part of an array along an axis."""
    return array.copy(layout="C" if array.layout == "C" and axis == 0 else "A")


def emit_slice(context: Any, builder: Any, array: nb.Array, base: Any, axis: int, start: Any, length: Any) -> Any:
    """Emit the view of a part of an array along an axis."""
    lengths, strides = (cgutils.unpack_tuple(builder, each, array.ndim) for each in (base.shape, base.strides))
    offset = builder.select(builder.icmp_signed(">", length, length.type(0)), start, start.type(0))
    data = cgutils.pointer_add(builder, base.data, builder.mul(offset, strides[axis]))
    lengths[axis] = length
    return emit_view(context, builder, sliced_type(array, axis), base, data, lengths, strides)


@intrinsic(prefer_literal=True)
def flipped(typing_context: Any, array: nb.Type, axes: nb.Type) -> Any:
    """Return a view of an array, reversed along known axes."""
    places = known(axes)
    returned = array.copy(layout="A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        lengths, strides = (cgutils.unpack_tuple(builder, each, array.ndim) for each in (base.shape, base.strides))
        data = base.data
        for at in places:
            length, stride = lengths[at], strides[at]
            is_some = builder.icmp_signed(">", length, length.type(0))
            last = builder.mul(stride, builder.sub(length, length.type(1)))
            data = cgutils.pointer_add(builder, data, builder.select(is_some, last, last.type(0)))
            strides[at] = builder.neg(stride)
        return emit_view(context, builder, returned, base, data, lengths, strides)

    return returned(array, axes), generate


@intrinsic
def broadcast(typing_context: Any, array: nb.Type, shape: nb.Type) -> Any:
    """Return a view of an array, broadcast to a shape."""
    returned = array.copy(ndim=len(shape), layout="A", readonly=True)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, lengths, strides = parts(context, builder, array, arguments[0])
        wanted = [
            context.cast(builder, size, type_, nb.intp)
            for size, type_ in zip(cgutils.unpack_tuple(builder, arguments[1]), shape)
        ]
        missing = len(wanted) - array.ndim
        steps = [size.type(0) for size in wanted[:missing]]
        is_wrong = cgutils.false_bit
        for size in wanted:
            is_wrong = builder.or_(is_wrong, builder.icmp_signed("<", size, size.type(0)))
        for length, stride, size in zip(lengths, strides, wanted[missing:]):
            is_other = builder.icmp_signed("!=", size, length)
            is_wrong = builder.or_(is_wrong, builder.and_(is_other, builder.icmp_signed("!=", length, length.type(1))))
            steps.append(builder.select(is_other, stride.type(0), stride))
        with cgutils.if_unlikely(builder, is_wrong):
            context.call_conv.return_user_exc(builder, ValueError, ("the array does not broadcast to that shape",))
        base = context.make_array(array)(context, builder, arguments[0])
        return emit_view(context, builder, returned, base, data, wanted, steps)

    return returned(array, shape), generate


@intrinsic
def part(typing_context: Any, array: nb.Type, starts: nb.Type, shape: nb.Type) -> Any:
    """Return a view of the part of an array that begins at `starts`; it must be there."""
    returned = array.copy(layout="A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        strides, begins, sizes = (
            cgutils.unpack_tuple(builder, each, array.ndim) for each in (base.strides, *arguments[1:])
        )
        data = base.data
        for begin, stride in zip(begins, strides):
            data = cgutils.pointer_add(builder, data, builder.mul(begin, stride))
        return emit_view(context, builder, returned, base, data, sizes, strides)

    return returned(array, starts, shape), generate
