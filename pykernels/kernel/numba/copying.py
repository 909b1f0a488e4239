"""Copy arrays in kernels that numba compiles, with one function for all shapes and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic
from numba.np import arrayobj

#: The function that copies, a separate part of the runtime.
COPY = "pk_copy"

_I64 = ir.IntType(64)


@intrinsic
def copy(typing_context: Any, target: nb.Type, source: nb.Type) -> Any:
    """Copy an array into another one of the same shape and dtype."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        emit_whole_copy(context, builder, *zip(signature.args, arguments))
        return context.get_dummy_value()

    return nb.void(target, source), generate


@intrinsic
def reinterpret(typing_context: Any, array: nb.Array, dtype: Any) -> Any:
    """Return the memory of an array as numbers of another dtype of the same size."""
    type_ = array.copy(dtype=dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        base = context.make_array(array)(context, builder, arguments[0])
        data = builder.bitcast(base.data, context.get_data_type(type_.dtype).as_pointer())
        return emit_view(context, builder, type_, base, data, base.shape, base.strides)

    return type_(array, dtype), generate


def emit_whole_copy(context: Any, builder: Any, target: tuple[nb.Array, Any], source: tuple[nb.Array, Any]) -> None:
    """Emit a copy of an array into another one; each is given by its type and its value."""
    data, lengths, strides = parts(context, builder, *target)
    source_data, _, source_strides = parts(context, builder, *source)
    emit_copy(context, builder, target[0], (data, strides), (source_data, source_strides), lengths)


def parts(context: Any, builder: Any, array: nb.Array, value: Any) -> tuple[Any, list[Any], list[Any]]:
    """Return the address of an array's data, its lengths and its strides."""
    model = context.data_model_manager[array]
    data, lengths, strides = (
        builder.extract_value(value, model.get_field_position(name)) for name in ("data", "shape", "strides")
    )
    return data, *(cgutils.unpack_tuple(builder, each, array.ndim) for each in (lengths, strides))


def emit_view(context: Any, builder: Any, type_: nb.Array, base: Any, data: Any, shape: Any, strides: Any) -> Any:
    """Emit an array of a type over the memory of another one, `base`."""
    made = context.make_array(type_)(context, builder)
    owner = {name: getattr(base, name) for name in ("itemsize", "meminfo", "parent")}
    arrayobj.populate_array(made, data=data, shape=shape, strides=strides, **owner)
    return impl_ret_borrowed(context, builder, type_, made._getvalue())


def emit_copy(
    context: Any,
    builder: Any,
    array: nb.Array,
    target: tuple[Any, Sequence[Any]],
    source: tuple[Any, Sequence[Any]],
    lengths: Sequence[Any],
) -> None:
    """Emit a call of ``pk_copy`` with the address and the strides of target and source, which may overlap."""
    byte = ir.IntType(8).as_pointer()
    room = [cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, len(lengths)))) for _ in range(3)]
    for place, numbers in zip(room, (target[1], source[1], lengths)):
        for at, number in enumerate(numbers):
            builder.store(number, cgutils.gep_inbounds(builder, place, 0, at))
    to_strides, from_strides, sizes = (builder.bitcast(place, _I64.as_pointer()) for place in room)
    type_ = ir.FunctionType(
        ir.IntType(32), [byte, _I64.as_pointer(), byte, _I64.as_pointer(), _I64.as_pointer(), ir.IntType(32), _I64]
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
