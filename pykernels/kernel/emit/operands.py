"""Emit operations with their operands: known numbers, numbers that the kernel is given, and elements."""

from __future__ import annotations

from collections.abc import Mapping

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit import complex_operations, vector_operations
from pykernels.kernel.emit.vector_writer import Writer, constant, convert, spread
from pykernels.kernel.expression.array_nodes import Extent
from pykernels.kernel.expression.nodes import Keyword, Node, Operation, dtype_of
from pykernels.kernel.plan.graph import within

_I64 = ir.IntType(64)


class Operands:
    """Emits operations with their operands.

    Parameters
    ----------
    writer : Writer
    before : ir.IRBuilder
        The position for numbers, which are computed before all elements.
    given : ir.Value
        The numbers that the kernel is given, ``const int64_t*``.
    slots : mapping of Extent to int
        The positions of lengths among these numbers.
    """

    def __init__(self, writer: Writer, before: ir.IRBuilder, given: ir.Value, slots: Mapping[Extent, int]) -> None:
        self._writer = writer
        self._before = before
        self._given = given
        self._slots = slots
        self._numbers: dict[int, ir.Value] = {}
        self._spread: dict[tuple[int, str], ir.Value] = {}

    def number(self, node: Node) -> ir.Value:
        """Return the value of a number, computing it once."""
        if node.order not in self._numbers:
            made = self.operation(self._before, node) if isinstance(node, Operation) else self._load(node)
            self._numbers[node.order] = made
        return self._numbers[node.order]

    def operation(
        self, builder: ir.IRBuilder, node: Operation, elements: Mapping[int, ir.Value] | None = None
    ) -> ir.Value:
        """Emit an operation on numbers, or on vectors where `elements` has some, by their nodes' order."""
        operands = self.of(builder, node, elements)
        self._writer.builder = builder
        table = complex_operations if node.dtype.kind == "c" else vector_operations
        return table.EMITTERS[node.name](self._writer, node.dtype, *operands)

    def of(
        self, builder: ir.IRBuilder, node: Operation, elements: Mapping[int, ir.Value] | None = None
    ) -> list[ir.Value]:
        """Return the operands of an operation in the dtype that it is computed in."""
        dtypes = [node.dtype] * len(node.operands)
        if node.name == "where":
            dtypes[0] = np.dtype(np.bool_)
        elif node.name == "check":
            dtypes[1:] = [np.dtype(np.bool_)] * 2
        elif node.name == "gather":
            dtypes[1] = np.dtype(np.int64)
        elif node.name == "scatter":
            dtypes[::2] = [np.dtype(np.int64)] * (len(dtypes) // 2)
        lanes = 0 if elements is None else self._writer.lanes
        made = []
        for each, dtype in zip(node.operands, dtypes):
            operand = within(each) if isinstance(each, Node) else each
            if not isinstance(operand, Node):
                made.append(constant(operand, dtype, lanes))
            elif elements is None:
                made.append(convert(builder, self.number(operand), dtype_of(operand), dtype))
            elif operand.order in elements:
                made.append(convert(builder, elements[operand.order], dtype_of(operand), dtype))
            else:
                made.append(self._spread_number(operand, dtype))
        return made

    def _load(self, node: Node) -> ir.Value:
        slot = node.slot if isinstance(node, Keyword) else self._slots[node]  # type: ignore[index]
        pointer = self._before.gep(self._given, [_I64(slot)])
        if isinstance(node.sample, float):
            return self._before.load(self._before.bitcast(pointer, ir.DoubleType().as_pointer()))
        value = self._before.load(pointer)
        return self._before.icmp_signed("!=", value, _I64(0)) if isinstance(node.sample, bool) else value

    def _spread_number(self, node: Node, dtype: np.dtype) -> ir.Value:
        key = (node.order, dtype.str)
        if key not in self._spread:
            number = convert(self._before, self.number(node), dtype_of(node), dtype)
            self._spread[key] = spread(self._before, number, self._writer.lanes)
        return self._spread[key]
