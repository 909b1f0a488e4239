"""Emit checks for what Python and NumPy raise on scalar arguments.

`number_rules` lists the operations that may raise. If a check fails, the kernel runs as plain NumPy, which raises the
exception.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping, Sequence

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.operands import Operands
from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.emit.vector_writer import Writer, number_like
from pykernels.kernel.expression.array_nodes import Extent, operands_of
from pykernels.kernel.expression.nodes import Node, Operation, in_order
from pykernels.kernel.expression.number_rules import is_given, may_raise, narrowed
from pykernels.kernel.expression.operations import Raises

#: The name of the compiled function that returns whether a kernel can be computed with the given numbers.
ACCEPTS = "pk_accepts"

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_INTEGERS = np.iinfo(np.int64)
# The instructions that report overflow.
_OVERFLOWING = {"add": "sadd_with_overflow", "subtract": "ssub_with_overflow", "multiply": "smul_with_overflow"}


def write(writer: Writer, outputs: Iterable[Node], slots: Mapping[Extent, int]) -> None:
    """Write the function `ACCEPTS`, ``int32 (const int64_t* numbers)``.

    Parameters
    ----------
    outputs : iterable of Node
        The outputs of the kernel.
    slots : mapping of Extent to int
        The positions of lengths among the numbers that the kernel is given.
    """
    function = ir.Function(writer.module, ir.FunctionType(_I32, [_I64.as_pointer()]), ACCEPTS)
    function.attributes.add("nounwind")
    entry = ir.IRBuilder(function.append_basic_block("entry"))
    operands = Operands(writer, entry, function.args[0], slots)
    writer.builder = entry
    found = [check for node in in_order(outputs, operands_of) for check in _checks(writer, operands, node)]
    entry.ret(entry.zext(functools.reduce(entry.and_, found, ir.Constant(ir.IntType(1), 1)), _I32))


def _checks(w: Writer, numbers: Operands, node: Node) -> list[ir.Value]:
    """Return the conditions that must hold before a node is computed."""
    checks = [
        fits(w.builder, numbers.number(each), node.dtype)  # type: ignore[attr-defined]
        for each in narrowed(node)
    ]
    raises = may_raise(node)
    if raises and is_given(node):
        assert isinstance(node, Operation)
        checks.append(_holds(w, numbers, node, raises))
    return checks


def _holds(w: Writer, numbers: Operands, node: Operation, raises: Raises) -> ir.Value:
    builder = w.builder
    operands = numbers.of(builder, node)
    if raises is Raises.CONVERSION:
        return is_whole(w, numbers.number(node.operands[0]))  # type: ignore[arg-type]
    if raises is Raises.DIVISION:
        compare = builder.fcmp_unordered if node.dtype.kind == "f" else builder.icmp_signed
        return compare("!=", operands[-1], number_like(operands[-1], 0))
    if raises is Raises.OVERFLOW:
        return builder.not_(builder.extract_value(getattr(builder, _OVERFLOWING[node.name])(*operands), 1))
    if raises is Raises.SHIFT:
        positive = builder.icmp_signed(">=", operands[1], _I64(0))
        if node.name == "right_shift":
            return positive
        return builder.and_(positive, keeps_bits(w, numbers.number(node), *operands))
    return is_regular(w, numbers.number(node), operands)


def fits(builder: ir.IRBuilder, number: ir.Value, dtype: np.dtype) -> ir.Value:
    """Whether a dtype can represent a 64-bit integer."""
    limits = np.iinfo(dtype)
    lowest, highest = max(limits.min, _INTEGERS.min), min(limits.max, _INTEGERS.max)
    above = builder.icmp_signed(">=", number, _I64(lowest))
    return builder.and_(above, builder.icmp_signed("<=", number, _I64(highest)))


def is_whole(w: Writer, number: ir.Value) -> ir.Value:
    """Whether a floating-point number can be truncated to a 64-bit integer; NaN cannot."""
    return w.builder.fcmp_ordered("<", w.intrinsic("fabs", number), number_like(number, 2.0**63))


def keeps_bits(w: Writer, shifted: ir.Value, number: ir.Value, count: ir.Value) -> ir.Value:
    """Whether shifting a 64-bit integer to the right again restores it."""
    back = EMITTERS["right_shift"](w, np.dtype(np.int64), shifted, count)
    return w.builder.icmp_signed("==", back, number)


def is_regular(w: Writer, value: ir.Value, operands: Sequence[ir.Value]) -> ir.Value:
    """Whether a result is finite, or follows from operands that are not finite."""
    builder = w.builder

    def is_finite(number: ir.Value) -> ir.Value:
        return builder.fcmp_ordered("<", w.intrinsic("fabs", number), number_like(number, math.inf))

    def is_nan(number: ir.Value) -> ir.Value:
        return builder.fcmp_unordered("uno", number, number)

    finite, nan = is_finite(value), is_nan(value)
    some_nan = functools.reduce(builder.or_, map(is_nan, operands))
    all_finite = functools.reduce(builder.and_, map(is_finite, operands))
    return builder.or_(finite, builder.select(nan, some_nan, builder.not_(all_finite)))
