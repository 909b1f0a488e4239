"""Copies of whole arrays and parts of them in kernels that numba compiles: by one function for all shapes and strides.

numba's own assignment of slices is a loop over single elements, compiled anew for each.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry
from numba.core.types.misc import SliceType
from numba.extending import intrinsic
from numba.np import arrayobj

__all__ = ["COPY", "copy", "emit_copy", "emit_whole_copy", "parts", "registry"]

#: The function of the runtime, in a part of its own.
COPY = "pk_copy"

registry = Registry("pykernels copies")
_I64 = ir.IntType(64)


@intrinsic
def copy(typing_context: Any, target: nb.Type, source: nb.Type) -> Any:
    """Copy all of an array into another one of its shape and dtype."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_whole_copy(context, builder, signature, arguments)
        return context.get_dummy_value()

    return nb.void(target, source), generate


def emit_whole_copy(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
    """Copy an array, the second argument, into the first one."""
    target, source = signature.args
    data, lengths, strides = parts(context, builder, target, arguments[0])
    source_data, _, source_strides = parts(context, builder, source, arguments[1])
    emit_copy(context, builder, target, (data, strides), (source_data, source_strides), lengths)


def parts(context: Any, builder: Any, array: nb.Array, value: Any) -> tuple[Any, list[Any], list[Any]]:
    """The address of an array's data, its lengths and its strides."""
    made = context.make_array(array)(context, builder, value)
    lengths, strides = (cgutils.unpack_tuple(builder, each, array.ndim) for each in (made.shape, made.strides))
    return made.data, lengths, strides


def emit_copy(
    context: Any,
    builder: Any,
    array: nb.Array,
    target: tuple[Any, Sequence[Any]],
    source: tuple[Any, Sequence[Any]],
    lengths: Sequence[Any],
) -> None:
    """Call ``pk_copy`` with the address and the strides of target and source, which may overlap."""
    byte = ir.IntType(8).as_pointer()
    room = [cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, len(lengths)))) for _ in range(3)]
    for place, numbers in zip(room, (target[1], source[1], lengths)):
        for at, number in enumerate(numbers):
            builder.store(number, cgutils.gep_inbounds(builder, place, 0, at))
    to_strides, from_strides, sizes = (builder.bitcast(place, _I64.as_pointer()) for place in room)
    type_ = ir.FunctionType(
        ir.IntType(32),
        [byte, _I64.as_pointer(), byte, _I64.as_pointer(), _I64.as_pointer(), ir.IntType(32), _I64],
    )
    function = cgutils.get_or_insert_function(builder.module, type_, COPY)
    item = context.get_abi_sizeof(context.get_data_type(array.dtype))
    is_done = builder.call(
        function,
        [
            builder.bitcast(target[0], byte),
            to_strides,
            builder.bitcast(source[0], byte),
            from_strides,
            sizes,
            ir.IntType(32)(len(lengths)),
            _I64(item),
        ],
    )
    with cgutils.if_unlikely(builder, builder.icmp_signed("==", is_done, is_done.type(0))):
        context.call_conv.return_user_exc(builder, MemoryError, ("no memory for a copy",))


def _assign(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """``array[index] = other``."""
    array, index, other = signature.args
    types = index.types if isinstance(index, nb.BaseTuple) else (index,)
    is_view = all(isinstance(type_, (SliceType, nb.Integer, nb.EllipsisType)) for type_ in types)
    is_number = isinstance(array.dtype, (nb.Boolean, nb.Integer, nb.Float, nb.Complex))
    if not (is_view and is_number and array.dtype == other.dtype) or all(isinstance(t, nb.Integer) for t in types):
        return arrayobj.setitem_array(context, builder, signature, arguments)
    indices = cgutils.unpack_tuple(builder, arguments[1]) if isinstance(index, nb.BaseTuple) else [arguments[1]]
    types, indices = arrayobj.normalize_indices(context, builder, types, indices)
    made = context.make_array(array)(context, builder, arguments[0])
    data, lengths, strides = arrayobj.basic_indexing(
        context, builder, array, made, types, indices, boundscheck=context.enable_boundscheck
    )
    source, sizes, steps = parts(context, builder, other, arguments[2])
    one, is_wrong = _I64(1), cgutils.false_bit
    while len(sizes) > len(lengths):
        is_wrong = builder.or_(is_wrong, builder.icmp_signed("!=", sizes.pop(0), one))
        del steps[0]
    missing = len(lengths) - len(sizes)
    for at, (size, length) in enumerate(zip(sizes, lengths[missing:])):
        is_other = builder.icmp_signed("!=", size, length)
        is_wrong = builder.or_(is_wrong, builder.and_(is_other, builder.icmp_signed("!=", size, one)))
        steps[at] = builder.select(is_other, _I64(0), steps[at])
    with cgutils.if_unlikely(builder, is_wrong):
        context.call_conv.return_user_exc(builder, ValueError, ("the array does not have that shape",))
    emit_copy(context, builder, array, (data, strides), (source, [_I64(0)] * missing + steps), lengths)
    return context.get_dummy_value()


registry.lower(operator.setitem, nb.Array, nb.Any, nb.Array)(_assign)
