"""Compile ``array[index] = other`` in kernels to one copy of contiguous runs.

numba itself compiles a new loop over single elements for each assignment.
"""

from __future__ import annotations

import operator
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry
from numba.core.types.misc import SliceType
from numba.extending import overload
from numba.np import arrayobj

from pykernels.kernel.numba.copying import emit_copy, parts
from pykernels.kernel.numba.target import kernel_target

registry = Registry("pykernels assignments")
_I64 = ir.IntType(64)


def _assign(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit ``array[index] = other``."""
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


@overload(arrayobj.raise_with_shape_context, target=kernel_target.name)
def raise_without_shapes(given: Any, wanted: Any) -> Any:
    """Raise for an assignment of another shape; numba's message takes longer to compile than most kernels."""

    def raise_it(given: Any, wanted: Any) -> None:
        raise ValueError

    return raise_it
