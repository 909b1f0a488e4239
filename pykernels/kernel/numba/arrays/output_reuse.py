"""Compute a result directly in the output buffer, see ``kernel_runtime.cpp``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import llvmlite.ir as ir
from numba import types as nb
from numba.core import cgutils

#: The function that the entry of a kernel calls if the kernel fails.
TAKE_BACK = "pk_take_back"
_BYTES, _I64 = ir.IntType(8).as_pointer(), ir.IntType(64)
# Smaller arrays lie in the arena (`counting`).
_FEWEST_BYTES = 4096


def emit_loan(context: Any, builder: Any, output: tuple[nb.Array, Any], inputs: Iterable[tuple[nb.Array, Any]]) -> None:
    """Emit the loan of an output's memory to the kernel, unless it overlaps an input; each by its type and value."""
    begin, end = _extent(context, builder, *output)
    size = builder.sub(end, begin)
    may_lend = builder.icmp_unsigned(">=", size, _I64(_FEWEST_BYTES))
    for each in inputs:
        first, last = _extent(context, builder, *each)
        is_apart = builder.or_(builder.icmp_unsigned("<=", last, begin), builder.icmp_unsigned("<=", end, first))
        may_lend = builder.and_(may_lend, is_apart)
    with builder.if_then(may_lend):
        type_ = ir.FunctionType(ir.VoidType(), [_BYTES, _I64])
        function = cgutils.get_or_insert_function(builder.module, type_, "pk_lend")
        builder.call(function, [builder.inttoptr(begin, _BYTES), size])


def _extent(context: Any, builder: Any, type_: nb.Array, value: Any) -> tuple[Any, Any]:
    """Return the addresses where the memory of a contiguous array begins and ends."""
    made = context.make_array(type_)(context, builder, value)
    begin = builder.ptrtoint(made.data, _I64)
    return begin, builder.add(begin, builder.mul(made.nitems, made.itemsize))


def emit_end(context: Any, builder: Any, output: tuple[nb.Array, Any], result: tuple[nb.Array, Any]) -> None:
    """Emit the end of a loan: record to which array to lend the output that gets this result."""
    made = context.make_array(output[0])(context, builder, output[1])
    is_large = builder.icmp_unsigned(">=", builder.mul(made.nitems, made.itemsize), _I64(_FEWEST_BYTES))
    with builder.if_then(is_large):
        type_ = ir.FunctionType(ir.VoidType(), [_BYTES])
        function = cgutils.get_or_insert_function(builder.module, type_, "pk_end_loan")
        returned = context.make_array(result[0])(context, builder, result[1])
        builder.call(function, [builder.bitcast(returned.data, _BYTES)])
