"""Replace NumPy functions that move elements: contiguous runs at a time, along any axis."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numba.np.numpy_support import as_dtype
from numba.np.unsafe.ndarray import to_fixed_tuple

from pykernels.kernel.numba.copying import copy, emit_copy, emit_view, parts
from pykernels.kernel.numba.functions.along import around, checked_axis
from pykernels.kernel.numba.implementing import compiled
from pykernels.kernel.numba.target import kernel_target


@compiled
def _with_length(lengths: Any, at: Any, length: Any, replaced: Any) -> Any:
    """Return the lengths with another one at a position, in place of `replaced` of them."""
    made = np.empty(len(lengths) + 1 - replaced, np.intp)
    for i in range(made.size):
        made[i] = length if i == at else lengths[i if i < at else i - 1 + replaced]
    return made


@intrinsic
def _stack(typing_context: Any, target: nb.Type, at: nb.Type, arrays: nb.Type) -> Any:
    """Copy each array to its position along an axis."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, lengths, strides = parts(context, builder, target, arguments[0])
        place = arguments[1]
        is_before = [builder.icmp_signed("<", place.type(i), place) for i in range(target.ndim)]
        step = strides[-1]
        for i in range(target.ndim - 1):
            step = builder.select(builder.icmp_signed("==", place.type(i), place), strides[i], step)
        left, steps = (
            [builder.select(is_before[i], each[i], each[i + 1]) for i in range(target.ndim - 1)]
            for each in (lengths, strides)
        )
        sources = [
            parts(context, builder, type_, value)
            for type_, value in zip(arrays, cgutils.unpack_tuple(builder, arguments[2]))
        ]
        is_wrong = cgutils.false_bit
        for _, sizes, _ in sources:
            for size, length in zip(sizes, left):
                is_wrong = builder.or_(is_wrong, builder.icmp_signed("!=", size, length))
        with cgutils.if_unlikely(builder, is_wrong):
            context.call_conv.return_user_exc(builder, ValueError, ("arrays of different shapes",))
        for number, (source, _, source_steps) in enumerate(sources):
            to = cgutils.pointer_add(builder, data, builder.mul(step, step.type(number)))
            emit_copy(context, builder, target, (to, steps), (source, source_steps), left)
        return context.get_dummy_value()

    return nb.void(target, nb.intp, arrays), generate


@overload(np.stack, target=kernel_target.name)
def _typed_stack(arrays: Any, axis: Any = 0) -> Any:
    if not _are_alike(arrays) or not _is_number(axis):
        return None
    dtype, ndim, count = as_dtype(arrays[0].dtype), arrays[0].ndim + 1, len(arrays)

    def stack(arrays: Any, axis: Any = 0) -> Any:
        at = checked_axis(axis, ndim)
        made = np.empty(to_fixed_tuple(_with_length(arrays[0].shape, at, count, 0), ndim), dtype)
        _stack(made, at, arrays)
        return made

    return stack


def _define_stack(function: Any, ndim: int) -> None:
    """Let a function stack arrays of so many axes along a further axis."""

    def stack(tup: Any) -> Any:
        return np.stack(tup, ndim)

    overload(function, target=kernel_target.name)(lambda tup: stack if _are_alike(tup, ndim) else None)


_define_stack(np.column_stack, 1)
_define_stack(np.dstack, 2)


@intrinsic
def _flipped(typing_context: Any, array: nb.Type, at: nb.Type) -> Any:
    """Return a view of an array, reversed along an axis."""
    returned = array.copy(layout="A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        lengths, strides = (cgutils.unpack_tuple(builder, each, array.ndim) for each in (view.shape, view.strides))
        offset = ir.Constant(strides[0].type, 0)
        for i, (length, stride) in enumerate(zip(lengths, strides)):
            is_here = builder.icmp_signed("==", arguments[1], arguments[1].type(i))
            is_some = builder.icmp_signed(">", length, length.type(0))
            last = builder.mul(stride, builder.sub(length, length.type(1)))
            offset = builder.select(builder.and_(is_here, is_some), last, offset)
            strides[i] = builder.select(is_here, builder.neg(stride), stride)
        data = cgutils.pointer_add(builder, view.data, offset)
        return emit_view(context, builder, returned, view, data, view.shape, strides)

    return returned(array, nb.intp), generate


@overload(np.flip, target=kernel_target.name)
def _typed_flip(m: Any, axis: Any = None) -> Any:
    if not isinstance(m, nb.Array) or m.ndim == 0 or not _is_number(axis):
        return None
    ndim = m.ndim

    def flip(m: Any, axis: Any = None) -> Any:
        return _flipped(m, checked_axis(axis, ndim))

    return flip


@compiled
def _rolled(rows: Any, shift: Any, made: Any) -> None:
    """Rotate the elements of each row."""
    n = rows.shape[1]
    if n > 0:
        shift %= n
        copy(made[:, shift:], rows[:, : n - shift])
        copy(made[:, :shift], rows[:, n - shift :])


@overload(np.roll, target=kernel_target.name)
def _typed_roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if not isinstance(a, nb.Array) or not _is_number(shift):
        return None
    dtype, ndim = as_dtype(a.dtype), a.ndim
    if isinstance(axis, (nb.NoneType, nb.Omitted)) or axis is None:

        def roll_all(a: Any, shift: Any, axis: Any = None) -> Any:
            made = np.empty(a.shape, dtype)
            _rolled(np.ascontiguousarray(a).reshape((1, a.size)), shift, made.reshape((1, a.size)))
            return made

        return roll_all
    if not _is_number(axis) or ndim == 0:
        return None

    def roll(a: Any, shift: Any, axis: Any = None) -> Any:
        at = checked_axis(axis, ndim)
        rows, inner = around(a.shape, at)
        made, n = np.empty(a.shape, dtype), a.shape[at] * inner
        _rolled(np.ascontiguousarray(a).reshape((rows, n)), shift * inner, made.reshape((rows, n)))
        return made

    return roll


def _is_number(type_: Any) -> bool:
    return isinstance(type_, (int, nb.Integer)) and not isinstance(type_, bool)


def _are_alike(arrays: Any, ndim: int | None = None) -> bool:
    """Whether a type is a tuple of arrays with the same dtype and number of axes."""
    if not isinstance(arrays, nb.BaseTuple) or not len(arrays) or not isinstance(arrays[0], nb.Array):
        return False
    dtype, ndim = arrays[0].dtype, arrays[0].ndim if ndim is None else ndim
    return ndim > 0 and all(isinstance(a, nb.Array) and (a.dtype, a.ndim) == (dtype, ndim) for a in arrays)
