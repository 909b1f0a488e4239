"""Compile ``x.reshape(...)`` of contiguous arrays to a check and new strides.

numba itself compiles two functions and decides at run time whether a copy is needed, which it never is here.
"""

from __future__ import annotations

from typing import Any

from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry
from numba.np import arrayobj

from pykernels.kernel.numba.copying import emit_view

registry = Registry("pykernels")


def _reshape_to_numbers(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return _reshape_to_tuple(context, builder, *arrayobj.vararg_to_tuple(context, builder, signature, arguments))


def _reshape_to_tuple(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    type_, sizes_type = signature.args
    if type_.layout != "C":
        return arrayobj.array_reshape(context, builder, signature, arguments)
    view = context.make_array(type_)(context, builder, arguments[0])
    sizes = [
        context.cast(builder, size, old, nb.intp)
        for size, old in zip(cgutils.unpack_tuple(builder, arguments[1]), sizes_type)
    ]
    sizes, is_wrong = _inferred(builder, sizes, builder.bitcast(view.nitems, context.get_value_type(nb.intp)))
    with cgutils.if_unlikely(builder, is_wrong):
        context.call_conv.return_user_exc(builder, ValueError, ("the array does not have that shape",))
    strides = [view.itemsize]
    for size in reversed(sizes[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    return emit_view(context, builder, signature.return_type, view, view.data, sizes, strides[: len(sizes)])


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
