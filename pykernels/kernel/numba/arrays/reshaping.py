"""Compile ``x.reshape(...)`` to a check and new strides; an array that is not contiguous is copied where NumPy copies.

numba itself refuses arrays that are not contiguous, and compiles two functions for others.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry
from numba.core.typing.templates import AttributeTemplate, bound_function, infer_getattr, signature
from numba.np import arrayobj

from pykernels.kernel.numba.copying import copy, emit_view
from pykernels.kernel.numba.target import kernel_target

registry = Registry("pykernels")
_I32, _I64 = ir.IntType(32), ir.IntType(64)


@infer_getattr
class _Reshape(AttributeTemplate):  # type: ignore[misc]
    """The type of ``x.reshape``. A read-only array that is not contiguous is copied; no one can tell from a view."""

    key = nb.Array
    metadata = {"target": kernel_target.name}  # noqa: RUF012

    @bound_function("array.reshape")  # type: ignore[untyped-decorator]
    def resolve_reshape(self, array: nb.Array, args: Any, kws: Any) -> Any:
        sizes = args[0] if len(args) == 1 and isinstance(args[0], nb.BaseTuple) else args
        if kws or not args or not all(isinstance(size, nb.Integer) for size in sizes):
            return None
        is_copied = array.layout != "C" and not array.mutable
        layout = "C" if array.layout == "C" or is_copied else "A"
        is_read_only = not (array.mutable or is_copied)
        return signature(array.copy(ndim=len(sizes), layout=layout, readonly=is_read_only), *args)


def _reshape_to_numbers(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _reshape_to_tuple(context, builder, *arrayobj.vararg_to_tuple(context, builder, signature, arguments))


def _reshape_to_tuple(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    type_, sizes_type = signature.args
    view = context.make_array(type_)(context, builder, arguments[0])
    sizes = [
        context.cast(builder, size, old, nb.intp)
        for size, old in zip(cgutils.unpack_tuple(builder, arguments[1]), sizes_type)
    ]
    sizes, is_wrong = _inferred(builder, sizes, builder.bitcast(view.nitems, context.get_value_type(nb.intp)))
    with cgutils.if_unlikely(builder, is_wrong):
        context.call_conv.return_user_exc(builder, ValueError, ("the array does not have that shape",))
    returned = signature.return_type
    if type_.layout == "C":
        return _in_order(context, builder, returned, view, sizes)
    if returned.layout == "C":
        return _copied(context, builder, type_, arguments[0], returned, sizes)
    made = cgutils.alloca_once(builder, context.get_value_type(returned))
    is_view, strides = _strides(builder, view, type_.ndim, sizes)
    with builder.if_else(is_view) as (then, otherwise):
        with then:
            builder.store(emit_view(context, builder, returned, view, view.data, sizes, strides), made)
        with otherwise:
            builder.store(_copied(context, builder, type_, arguments[0], returned, sizes), made)
    return builder.load(made)


def _in_order(context: Any, builder: Any, returned: nb.Array, base: Any, sizes: list[Any]) -> Any:
    """Emit the view of a contiguous array with other lengths."""
    strides = [base.itemsize]
    for size in reversed(sizes[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    return emit_view(context, builder, returned, base, base.data, sizes, strides[: len(sizes)])


def _copied(context: Any, builder: Any, type_: nb.Array, array: Any, returned: nb.Array, sizes: list[Any]) -> Any:
    """Emit a contiguous copy of an array, with other lengths."""
    whole = type_.copy(layout="C", readonly=False)
    copied = context.compile_internal(builder, _in_one_piece, whole(type_), [array])
    base = context.make_array(whole)(context, builder, copied)
    made = _in_order(context, builder, returned, base, sizes)
    context.nrt.decref(builder, whole, copied)
    return made


def _in_one_piece(array: Any) -> Any:
    made = np.empty(array.shape, array.dtype)
    copy(made, array)
    return made


def _strides(builder: Any, view: Any, ndim: int, sizes: list[Any]) -> tuple[Any, list[Any]]:
    """Return whether a view can have these lengths, and its strides."""

    def stored(numbers: list[Any], count: int) -> Any:
        room = cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, count)))
        for at, number in enumerate(numbers):
            builder.store(number, cgutils.gep_inbounds(builder, room, 0, at))
        return room

    old = [stored(cgutils.unpack_tuple(builder, each, ndim), ndim) for each in (view.shape, view.strides)]
    new, found = stored(sizes, len(sizes)), stored([], len(sizes))
    pointers = [builder.bitcast(each, _I64.as_pointer()) for each in (*old, new, found)]
    types = [_I64, pointers[0].type, pointers[0].type, _I64, pointers[0].type, pointers[0].type, _I64, _I32]
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_I32, types), "numba_attempt_nocopy_reshape"
    )
    given = [_I64(ndim), *pointers[:2], _I64(len(sizes)), *pointers[2:], view.itemsize, _I32(0)]
    is_view = builder.icmp_signed("!=", builder.call(function, given), _I32(0))
    return is_view, [builder.load(cgutils.gep_inbounds(builder, found, 0, at)) for at in range(len(sizes))]


registry.lower("array.reshape", nb.Array, nb.VarArg(nb.Any))(_reshape_to_numbers)
registry.lower("array.reshape", nb.Array, nb.BaseTuple)(_reshape_to_tuple)


def _inferred(builder: Any, sizes: list[Any], count: Any) -> tuple[list[Any], Any]:
    """Return the sizes with a negative one inferred, and whether they do not match `count`."""
    zero, one = count.type(0), count.type(1)
    unknown, known, is_wrong = zero, one, cgutils.false_bit
    for size in sizes:
        is_negative = builder.icmp_signed("<", size, zero)
        unknown = builder.add(unknown, builder.zext(is_negative, count.type))
        product = builder.smul_with_overflow(known, builder.select(is_negative, one, size))
        known = builder.extract_value(product, 0)
        is_wrong = builder.or_(is_wrong, builder.extract_value(product, 1))
    is_empty = builder.icmp_signed("==", known, zero)
    left = builder.sdiv(count, builder.select(is_empty, one, known))
    has_unknown = builder.icmp_signed("==", unknown, one)
    inferred = [builder.select(builder.icmp_signed("<", size, zero), left, size) for size in sizes]
    is_wrong = builder.or_(is_wrong, builder.icmp_signed(">", unknown, one))
    is_wrong = builder.or_(is_wrong, builder.and_(has_unknown, is_empty))
    whole = builder.mul(known, builder.select(has_unknown, left, one))
    return inferred, builder.or_(is_wrong, builder.icmp_signed("!=", whole, count))
