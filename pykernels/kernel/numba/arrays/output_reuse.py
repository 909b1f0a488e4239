"""Compute a result directly in the output buffer, see ``kernel_runtime.cpp``."""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from pykernels.kernel.numba.copying import emit_whole_copy

#: The function that the entry of a kernel calls if the kernel fails.
TAKE_BACK = "pk_take_back"
_BYTES, _I64 = ir.IntType(8).as_pointer(), ir.IntType(64)
# Smaller arrays lie in the arena (`counting`).
_FEWEST_BYTES = 4096


@intrinsic
def lend(typing_context: Any, target: nb.Type, others: nb.Type) -> Any:
    """Lend the memory of an output unless it overlaps one of the other arrays."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin, end = _extent(context, builder, target, arguments[0])
        size = builder.sub(end, begin)
        may_lend = builder.icmp_unsigned(">=", size, size.type(_FEWEST_BYTES))
        for type_, value in zip(others, cgutils.unpack_tuple(builder, arguments[1])):
            first, last = _extent(context, builder, type_, value)
            is_apart = builder.or_(builder.icmp_unsigned("<=", last, begin), builder.icmp_unsigned("<=", end, first))
            may_lend = builder.and_(may_lend, is_apart)
        with builder.if_then(may_lend):
            type_ = ir.FunctionType(ir.VoidType(), [_BYTES, _I64])
            function = cgutils.get_or_insert_function(builder.module, type_, "pk_lend")
            builder.call(function, [builder.inttoptr(begin, _BYTES), size])
        return context.get_dummy_value()

    return nb.void(target, others), generate


def _extent(context: Any, builder: Any, array: nb.Array, value: Any) -> tuple[Any, Any]:
    """Return the addresses where the memory of a contiguous array begins and ends."""
    made = context.make_array(array)(context, builder, value)
    begin = builder.ptrtoint(made.data, _I64)
    return begin, builder.add(begin, builder.mul(made.nitems, made.itemsize))


@intrinsic
def copy_back(typing_context: Any, target: nb.Type, source: nb.Type) -> Any:
    """Copy like `copying.copy` into an output that may be lent: record which array to lend it to, and end the loan."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(target)(context, builder, arguments[0])
        is_large = builder.icmp_unsigned(">=", builder.mul(made.nitems, made.itemsize), made.nitems.type(_FEWEST_BYTES))
        with builder.if_then(is_large):
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(ir.VoidType(), [_BYTES]), "pk_end_loan"
            )
            returned = context.make_array(source)(context, builder, arguments[1])
            builder.call(function, [builder.bitcast(returned.data, _BYTES)])
        emit_whole_copy(context, builder, signature, arguments)
        return context.get_dummy_value()

    return nb.void(target, source), generate
