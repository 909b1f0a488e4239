"""The machine code of one stage of a fused kernel: a function that computes rows of elements, in vectors.

``void pk_stage_<k>(arrays, steps, numbers, rows, columns)``: the columns lie side by side in memory, for every array
that has them at all; `steps` are how many bytes there are from a row to the next. It is written straight as LLVM IR on
vectors; the end of a row, where it is no whole vector, is computed by the same instructions with the rest masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel.emit import folds
from pykernels.kernel.emit.masked_memory import from_memory, load, store, to_memory
from pykernels.kernel.emit.vector_code import constant, spread, storage_type
from pykernels.kernel.emit.vector_operations import OPERATIONS
from pykernels.kernel.emit.vector_writer import Writer, convert
from pykernels.kernel.expression.array_nodes import Extent, Reduction
from pykernels.kernel.expression.nodes import Keyword, Node, Operation, dtype_of
from pykernels.kernel.plan.graph import within
from pykernels.kernel.plan.stages import Array, Plan, Stage, arguments_of, nodes_of

__all__ = ["StageCode"]

_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_BYTES = _I8.as_pointer()


class StageCode:
    """Writes the function of one stage.

    Parameters
    ----------
    column : tuple of int
        The class whose elements are the columns, if there is one.
    together : int
        How many rows are added to each other before they are added to what is in memory; the function is given a
        multiple of so many. More than 1 only for a stage that `adds_rows`.
    """

    def __init__(
        self,
        writer: Writer,
        plan: Plan,
        stage: Stage,
        name: str,
        slots: Mapping[Extent, int],
        column: tuple[int, ...],
        together: int,
    ) -> None:
        self._writer = writer
        self._lanes = writer.lanes
        self._plan = plan
        self._stage = stage
        self._slots = slots
        self._together = together
        self._nodes = nodes_of(stage)
        self._arguments = arguments_of(stage)
        (self._column,) = column or (-1,)
        type_ = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _I64.as_pointer(), _I64.as_pointer(), _I64, _I64])
        self.function = ir.Function(writer.module, type_, name)
        self.function.attributes.add("nounwind")
        set.add(self.function.attributes, '"stackrealign"')  # as in `vector_code`
        self._entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self._numbers: dict[int, ir.Value] = {}
        self._spread: dict[tuple[int, str], ir.Value] = {}

    def write(self) -> None:
        """Write the body."""
        pointers, steps, numbers, rows, columns = self.function.args
        entry = self._entry
        for node in self._nodes:
            if not self._is_field(node):
                self._numbers[node.order] = self._number(node, numbers)
        starts = [entry.load(entry.gep(pointers, [_I64(at)])) for at in range(len(self._arguments))]
        strides = [entry.load(entry.gep(steps, [_I64(at)])) for at in range(len(self._arguments))]
        whole = entry.and_(columns, _I64(-self._lanes))
        rest = entry.sub(columns, whole)
        lane = ir.Constant(ir.VectorType(_I32, self._lanes), [_I32(k) for k in range(self._lanes)])
        mask = entry.icmp_signed("<", lane, spread(entry, entry.trunc(rest, _I32), self._lanes))
        row_block, done = (self.function.append_basic_block(name) for name in ("row", "done"))
        ir.IRBuilder(done).ret_void()

        builder = ir.IRBuilder(row_block)
        row = builder.phi(_I64)
        first_row = [builder.phi(_BYTES) for _ in starts]
        at_rows = [first_row]
        for _ in range(self._together - 1):
            at_rows.append([builder.gep(pointer, [stride]) for pointer, stride in zip(at_rows[-1], strides)])
        fixed = [self._fixed(builder, at_row) for at_row in at_rows]
        in_rows = [(node, array) for node, array in self._stage.folds if not self._has_columns(array)]
        firsts = [
            folds.spread_constant(folds.identity(node.name, _folded_in(node)), _folded_in(node), self._lanes)
            for node, _ in in_rows
        ]
        head, loop, after, tail, end = (
            self.function.append_basic_block(name) for name in ("head", "loop", "after", "tail", "end")
        )
        builder.branch(head)
        builder = ir.IRBuilder(head)
        builder.cbranch(builder.icmp_signed(">", whole, _I64(0)), loop, after)

        builder = ir.IRBuilder(loop)
        at = builder.phi(_I64)
        running = [builder.phi(first.type) for first in firsts]
        following = self._elements(builder, at_rows, at, fixed, in_rows, running, None)
        next_at = builder.add(at, _I64(self._lanes))
        at.add_incoming(_I64(0), head)
        at.add_incoming(next_at, loop)
        for phi, first, value in zip(running, firsts, following):
            phi.add_incoming(first, head)
            phi.add_incoming(value, loop)
        builder.cbranch(builder.icmp_signed("<", next_at, whole), loop, after)

        builder = ir.IRBuilder(after)
        so_far = [builder.phi(first.type) for first in firsts]
        for phi, first, value in zip(so_far, firsts, following):
            phi.add_incoming(first, head)
            phi.add_incoming(value, loop)
        some_left = builder.icmp_signed("!=", rest, _I64(0)) if self._lanes > 1 else ir.Constant(ir.IntType(1), 0)
        builder.cbranch(some_left, tail, end)

        builder = ir.IRBuilder(tail)
        last = self._elements(builder, at_rows, whole, fixed, in_rows, so_far, mask)
        builder.branch(end)

        builder = ir.IRBuilder(end)
        folded = [builder.phi(first.type) for first in firsts]
        for phi, before, value in zip(folded, so_far, last):
            phi.add_incoming(before, after)
            phi.add_incoming(value, tail)
        for (node, array), vector in zip(in_rows, folded):
            self._fold_row(builder, node, array, first_row, vector)
        next_row = builder.add(row, _I64(self._together))
        moved = [builder.gep(pointer, [stride]) for pointer, stride in zip(at_rows[-1], strides)]
        builder.cbranch(builder.icmp_signed("<", next_row, rows), row_block, done)
        row.add_incoming(_I64(0), entry.block)
        row.add_incoming(next_row, end)
        for phi, start, pointer in zip(first_row, starts, moved):
            phi.add_incoming(start, entry.block)
            phi.add_incoming(pointer, end)
        entry.branch(row_block)

    # ---- what varies with what

    def _is_field(self, node: Node) -> bool:
        return node in self._plan.graph.classes

    def _has_columns(self, array: Array) -> bool:
        """Whether an array has another element in each column; where there is but one column, it has."""
        return self._column < 0 or self._column in array.classes

    def _varies(self, node: Node) -> bool:
        if node in self._stage.reads:
            return self._has_columns(self._stage.reads[node])
        return self._column < 0 or self._column in self._plan.graph.classes[node]

    # ---- elements

    def _fixed(self, builder: ir.IRBuilder, at_row: Sequence[ir.Value]) -> dict[int, ir.Value]:
        """The values that are the same all along a row."""
        values: dict[int, ir.Value] = {}
        for node in self._nodes:
            if self._is_field(node) and not self._varies(node):
                array = self._stage.reads.get(node)
                if array is None:
                    assert isinstance(node, Operation)
                    values[node.order] = self._operation(builder, node, values)
                else:
                    pointer = self._pointer(builder, at_row, array, None)
                    number = from_memory(builder, builder.load(pointer), array.storage)
                    number = convert(builder, number, array.storage, dtype_of(node))
                    values[node.order] = spread(builder, number, self._lanes)
        return values

    def _elements(
        self,
        builder: ir.IRBuilder,
        at_rows: Sequence[Sequence[ir.Value]],
        at: ir.Value,
        fixed: Sequence[dict[int, ir.Value]],
        folded: Sequence[tuple[Reduction, Array]],
        running: Sequence[ir.Value],
        mask: ir.Value | None,
    ) -> list[ir.Value]:
        """Compute a vector of columns; gives what `running` has become."""
        rows = [self._computed(builder, *each, at, mask) for each in zip(at_rows, fixed)]
        (values, *others), (at_row, *_) = rows, at_rows
        for node, array in self._stage.stores:
            value = convert(builder, values[within(node).order], dtype_of(node), array.storage)
            store(self._writer, builder, value, self._pointer(builder, at_row, array, at), array.storage, mask)
        self._writer.builder = builder
        for node, array in self._stage.folds:
            if self._has_columns(array):
                order, dtype = within(node.operand).order, _folded_in(node)
                value = convert(builder, values[order], node.dtype, dtype)
                for other in others:
                    more = convert(builder, other[order], node.dtype, dtype)
                    value = folds.combine(self._writer, node.name, dtype, value, more)
                pointer = self._pointer(builder, at_row, array, at)
                before = load(self._writer, builder, pointer, array.storage, mask)
                value = convert(builder, value, dtype, array.storage)
                made = folds.combine(self._writer, node.name, array.storage, before, value)
                store(self._writer, builder, made, pointer, array.storage, mask)
        result = []
        for (node, _), before in zip(folded, running):
            dtype = _folded_in(node)
            value = convert(builder, values[within(node.operand).order], node.dtype, dtype)
            made = folds.combine(self._writer, node.name, dtype, before, value)
            result.append(made if mask is None else builder.select(mask, made, before))
        return result

    def _computed(
        self,
        builder: ir.IRBuilder,
        at_row: Sequence[ir.Value],
        fixed: dict[int, ir.Value],
        at: ir.Value,
        mask: ir.Value | None,
    ) -> dict[int, ir.Value]:
        """The values of all nodes."""
        values = dict(fixed)
        for node in self._nodes:
            if self._is_field(node) and self._varies(node):
                array = self._stage.reads.get(node)
                if array is None:
                    assert isinstance(node, Operation)
                    values[node.order] = self._operation(builder, node, values)
                else:
                    loaded = load(self._writer, builder, self._pointer(builder, at_row, array, at), array.storage, mask)
                    values[node.order] = convert(builder, loaded, array.storage, dtype_of(node))
        return values

    def _fold_row(
        self, builder: ir.IRBuilder, node: Reduction, array: Array, at_row: Sequence[ir.Value], vector: ir.Value
    ) -> None:
        """Add the lanes of a vector to the number in memory."""
        self._writer.builder = builder
        number = folds.across(self._writer, node.name, _folded_in(node), vector)
        number = convert(builder, number, _folded_in(node), array.storage)
        pointer = self._pointer(builder, at_row, array, None)
        before = from_memory(builder, builder.load(pointer), array.storage)
        made = folds.combine(self._writer, node.name, array.storage, before, number)
        builder.store(to_memory(builder, made, array.storage), pointer)

    def _operation(self, builder: ir.IRBuilder, node: Operation, values: dict[int, ir.Value]) -> ir.Value:
        self._writer.builder = builder
        return OPERATIONS[node.name](self._writer, node.dtype, *self._operands(builder, node, values, self._lanes))

    def _operands(self, builder: ir.IRBuilder, node: Operation, values: dict[int, ir.Value], lanes: int) -> list[Any]:
        types = [node.dtype] * len(node.operands)
        if node.name == "where":
            types[0] = np.dtype(np.bool_)
        made = []
        for each, dtype in zip(node.operands, types):
            operand = within(each) if isinstance(each, Node) else each
            if not isinstance(operand, Node):
                made.append(constant(operand, dtype, lanes))
            elif self._is_field(operand) or not lanes:
                made.append(convert(builder, values[operand.order], dtype_of(operand), dtype))
            else:
                made.append(self._spread_number(operand, dtype))
        return made

    # ---- numbers, before all rows

    def _number(self, node: Node, numbers: ir.Value) -> ir.Value:
        entry = self._entry
        if isinstance(node, Operation):
            self._writer.builder = entry
            return OPERATIONS[node.name](self._writer, node.dtype, *self._operands(entry, node, self._numbers, 0))
        slot = node.slot if isinstance(node, Keyword) else self._slots[node]  # type: ignore[index]
        pointer = entry.gep(numbers, [_I64(slot)])
        if isinstance(node.sample, float):
            return entry.load(entry.bitcast(pointer, ir.DoubleType().as_pointer()))
        value = entry.load(pointer)
        return entry.icmp_signed("!=", value, _I64(0)) if isinstance(node.sample, bool) else value

    def _spread_number(self, node: Node, dtype: np.dtype) -> ir.Value:
        key = (node.order, dtype.str)
        if key not in self._spread:
            number = convert(self._entry, self._numbers[node.order], dtype_of(node), dtype)
            self._spread[key] = spread(self._entry, number, self._lanes)
        return self._spread[key]

    # ---- memory

    def _pointer(
        self, builder: ir.IRBuilder, at_row: Sequence[ir.Value], array: Array, at: ir.Value | None
    ) -> ir.Value:
        element = storage_type(array.storage)
        pointer = builder.bitcast(at_row[self._arguments.index(array)], element.as_pointer())
        return pointer if at is None else builder.gep(pointer, [at])


def _folded_in(node: Reduction) -> np.dtype:
    """The dtype of the numbers that a row is folded in."""
    return np.dtype(np.float32) if node.dtype == np.float16 else node.dtype
