"""Emit checks for what Python and NumPy raise on scalar arguments.

Which these are is told in `number_rules`. Where a check fails the plain NumPy run is made, which raises the exception.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit.vector_operations import OPERATIONS
from pykernels.kernel.emit.vector_writer import Writer, convert, number_like
from pykernels.kernel.expression.nodes import Node, Operation, dtype_of
from pykernels.kernel.expression.number_rules import DIVISIONS, OVERFLOWING, is_given, may_raise, narrowed, reachable

__all__ = ["ACCEPTS", "write"]

#: The function in machine code: whether a kernel can be computed with these numbers.
ACCEPTS = "pk_accepts"

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_INTEGERS = np.iinfo(np.int64)


def write(
    writer: Writer, outputs: Iterable[Node], slot_of: Callable[[Node], int], constant: Callable[..., Any]
) -> None:
    """Write the function `ACCEPTS`, ``int32 (const int64_t* numbers)``.

    Parameters
    ----------
    outputs : iterable of Node
        What the kernel computes.
    slot_of : callable
        Where among the numbers one is that the kernel is given.
    constant : callable
        Makes a constant of a number that is known (`vector_code.constant`).
    """
    function = ir.Function(writer.module, ir.FunctionType(_I32, [_I64.as_pointer()]), ACCEPTS)
    function.attributes.add("nounwind")
    entry = ir.IRBuilder(function.append_basic_block("entry"))
    checks = _Checks(writer, entry, function.args[0], slot_of, constant)
    found = [check for node in reachable(outputs) for check in checks.of(node)]
    entry.ret(entry.zext(functools.reduce(entry.and_, found, ir.Constant(ir.IntType(1), 1)), _I32))


class _Checks:
    """Writes the values of numbers and what is checked of them."""

    def __init__(
        self,
        writer: Writer,
        builder: ir.IRBuilder,
        numbers: ir.Value,
        slot_of: Callable[[Node], int],
        constant: Callable[..., Any],
    ) -> None:
        self._writer = writer
        self._builder = builder
        self._given = numbers
        self._slot_of = slot_of
        self._constant = constant
        self._values: dict[int, ir.Value] = {}

    def of(self, node: Node) -> list[ir.Value]:
        """What must hold before a node is computed."""
        self._writer.builder = self._builder
        checks = [self._fits(self._value(each), node.dtype) for each in narrowed(node)]  # type: ignore[attr-defined]
        if may_raise(node) and is_given(node):
            assert isinstance(node, Operation)
            checks.append(self._holds(node))
        return checks

    def _fits(self, value: ir.Value, dtype: np.dtype) -> ir.Value:
        limits = np.iinfo(dtype)
        lowest, highest = max(limits.min, _INTEGERS.min), min(limits.max, _INTEGERS.max)
        above = self._builder.icmp_signed(">=", value, _I64(lowest))
        return self._builder.and_(above, self._builder.icmp_signed("<=", value, _I64(highest)))

    def _holds(self, node: Operation) -> ir.Value:
        builder = self._builder
        operands = self._operands(node)
        if node.name == "convert":
            number = self._value(node.operands[0])  # type: ignore[arg-type]
            size = self._writer.intrinsic("fabs", number)
            return builder.fcmp_ordered("<", size, number_like(number, 2.0**63))
        if node.name in DIVISIONS:
            zero = number_like(operands[-1], 0)
            if node.dtype.kind == "f":
                return builder.fcmp_unordered("!=", operands[-1], zero)
            return builder.icmp_signed("!=", operands[-1], zero)
        if node.name in OVERFLOWING:
            # As they are: `intrinsic` is for functions that return what they take.
            type_ = ir.LiteralStructType([_I64, ir.IntType(1)])
            name = f"llvm.{OVERFLOWING[node.name]}.with.overflow.i64"
            function = self._writer.module.globals.get(name) or ir.Function(
                self._writer.module, ir.FunctionType(type_, [_I64, _I64]), name
            )
            return builder.not_(builder.extract_value(builder.call(function, operands), 1))
        if node.name in ("left_shift", "right_shift"):
            positive = builder.icmp_signed(">=", operands[1], _I64(0))
            if node.name == "right_shift":
                return positive
            value = self._value(node)
            kept = builder.icmp_signed(
                "==", OPERATIONS["right_shift"](self._writer, node.dtype, value, operands[1]), operands[0]
            )
            return builder.and_(positive, kept)
        return self._is_regular(self._value(node), operands)

    def _is_regular(self, value: ir.Value, operands: Sequence[ir.Value]) -> ir.Value:
        """Whether a result is finite, or follows from operands that are not."""
        builder = self._builder
        finite = self._is_below(value)
        is_nan = builder.fcmp_unordered("uno", value, value)
        some_nan = functools.reduce(builder.or_, [builder.fcmp_unordered("uno", each, each) for each in operands])
        all_finite = functools.reduce(builder.and_, map(self._is_below, operands))
        return builder.or_(finite, builder.select(is_nan, some_nan, builder.not_(all_finite)))

    def _is_below(self, value: ir.Value) -> ir.Value:
        return self._builder.fcmp_ordered("<", self._writer.intrinsic("fabs", value), number_like(value, math.inf))

    def _operands(self, node: Operation) -> list[ir.Value]:
        types = [node.dtype] * len(node.operands)
        if node.name == "where":
            types[0] = np.dtype(np.bool_)
        return [
            convert(self._builder, self._value(each), dtype_of(each), dtype)
            if isinstance(each, Node)
            else self._constant(each, dtype, 0)
            for each, dtype in zip(node.operands, types)
        ]

    def _value(self, node: Node) -> ir.Value:
        if node.order not in self._values:
            self._values[node.order] = self._compute(node)
        return self._values[node.order]

    def _compute(self, node: Node) -> ir.Value:
        if isinstance(node, Operation):
            return OPERATIONS[node.name](self._writer, node.dtype, *self._operands(node))
        pointer = self._builder.gep(self._given, [_I64(self._slot_of(node))])
        if isinstance(node.sample, float):
            return self._builder.load(self._builder.bitcast(pointer, ir.DoubleType().as_pointer()))
        value = self._builder.load(pointer)
        return self._builder.icmp_signed("!=", value, _I64(0)) if isinstance(node.sample, bool) else value
