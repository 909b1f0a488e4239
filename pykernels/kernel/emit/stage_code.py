"""Emit one stage of a fused kernel: a function that computes rows of elements in vectors.

The function is ``void pk_stage_<k>(arrays, steps, numbers, rows, columns)``. The columns are contiguous in memory in
every array that has them; `steps` are the bytes from one row to the next. The function is written directly as LLVM IR
on vectors; the same instructions, masked, compute the end of a row that does not fill a vector.

The stage of an elementwise kernel has one row of whole vectors, and its arrays are all tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import llvmlite.ir as ir
import numpy as np

from pykernels.base.dtypes import computed_in
from pykernels.kernel.emit import folds
from pykernels.kernel.emit.masked_memory import from_memory, load, store, to_memory
from pykernels.kernel.emit.operands import Operands
from pykernels.kernel.emit.vector_writer import Writer, constant, convert, spread, storage_type
from pykernels.kernel.expression.array_nodes import Extent, Reduction, Scattered, Start
from pykernels.kernel.expression.nodes import Node, Operation, dtype_of
from pykernels.kernel.expression.operations import neutral_of
from pykernels.kernel.plan.graph import within
from pykernels.kernel.plan.stages import Array, Plan, Stage, arguments_of, nodes_of

_I8, _I32, _I64 = (ir.IntType(bits) for bits in (8, 32, 64))
_BYTES = _I8.as_pointer()
#: As in fused/tables.h: how many numbers a kernel is given, behind which a stage notes places outside of an array.
MAX_NUMBERS = OUTSIDE = 96
#: The type of the function of a stage.
STAGE = ir.FunctionType(ir.VoidType(), [_BYTES.as_pointer(), _I64.as_pointer(), _I64.as_pointer(), _I64, _I64])


class StageCode:
    """Writes the function of one stage.

    Parameters
    ----------
    column : tuple of int
        The axis class that the columns belong to, if there is one.
    together : int
        The number of rows that are summed before the sum is added to memory; the function is called with a multiple of
        this number of rows. More than 1 only for a stage that `adds_rows`.
    streaming : bool
        Whether results are written past the caches; only for an elementwise kernel.
    """

    def __init__(
        self,
        writer: Writer,
        plan: Plan,
        stage: Stage,
        name: str,
        slots: Mapping[Extent, int],
        column: tuple[int, ...],
        together: int = 1,
        *,
        streaming: bool = False,
    ) -> None:
        self._writer = writer
        self._lanes = writer.lanes
        self._plan = plan
        self._stage = stage
        self._together = together
        self._streaming = streaming
        self._is_elementwise = plan.graph.fused.is_elementwise
        self._nodes = nodes_of(stage)
        self._arguments = plan.arrays if self._is_elementwise else arguments_of(stage)
        (self._column,) = column or (-1,)
        self._function = ir.Function(writer.module, STAGE, name)
        self._function.attributes.add("nounwind")
        # Otherwise registers that are saved around a call would straddle cache lines, which costs as much as the call.
        # (llvmlite's own `add` rejects attributes in quotes.)
        set.add(self._function.attributes, '"stackrealign"')
        self._entry = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._operands = Operands(writer, self._entry, self._function.args[2], slots)

    def write(self) -> ir.Function:
        """Write the body of the function, and return the function."""
        pointers, steps, _, rows, columns = self._function.args
        entry = self._entry
        for node in self._nodes:
            if not self._is_field(node):
                self._operands.number(node)
        starts = [entry.load(entry.gep(pointers, [_I64(at)])) for at in range(len(self._arguments))]
        row_block = self._function.append_basic_block("row")
        builder = ir.IRBuilder(row_block)
        if self._is_elementwise:
            self._row(builder, [starts], columns, None).ret_void()
        else:
            strides = [entry.load(entry.gep(steps, [_I64(at)])) for at in range(len(self._arguments))]
            self._rows(builder, starts, strides, rows, columns)
        entry.branch(row_block)
        return self._function

    def _rows(
        self,
        builder: ir.IRBuilder,
        starts: Sequence[ir.Value],
        strides: Sequence[ir.Value],
        rows: ir.Value,
        columns: ir.Value,
    ) -> None:
        """Write the loop over rows, starting at `builder`."""
        entry, first = self._entry, builder.block
        whole = entry.and_(columns, _I64(-self._lanes))
        rest = entry.sub(columns, whole) if self._lanes > 1 else None
        row = builder.phi(_I64)
        first_row = [builder.phi(_BYTES) for _ in starts]
        at_rows = [first_row]
        for _ in range(self._together - 1):
            at_rows.append([builder.gep(pointer, [stride]) for pointer, stride in zip(at_rows[-1], strides)])
        builder = self._row(builder, at_rows, whole, rest)
        next_row = builder.add(row, _I64(self._together))
        moved = [builder.gep(pointer, [stride]) for pointer, stride in zip(at_rows[-1], strides)]
        done = self._function.append_basic_block("done")
        ir.IRBuilder(done).ret_void()
        builder.cbranch(builder.icmp_signed("<", next_row, rows), first, done)
        _receive([row, *first_row], [_I64(0), *starts], entry.block)
        _receive([row, *first_row], [next_row, *moved], builder.block)

    def _row(
        self, builder: ir.IRBuilder, at_rows: Sequence[Sequence[ir.Value]], whole: ir.Value, rest: ir.Value | None
    ) -> ir.IRBuilder:
        """Write the loop over columns, `whole` in full vectors and then `rest`; return the builder at its end."""
        fixed = [self._values(builder, at_row) for at_row in at_rows]
        in_rows = [
            (node, array)
            for node, array in self._stage.folds
            if not self._has_columns(array) and not isinstance(node, Scattered)
        ]
        firsts = [
            constant(neutral_of(node.name, _folded_in(node)), _folded_in(node), self._lanes) for node, _ in in_rows
        ]
        head = builder.block
        loop, after = (self._function.append_basic_block(name) for name in ("loop", "after"))
        builder.cbranch(builder.icmp_signed(">", whole, _I64(0)), loop, after)

        builder = ir.IRBuilder(loop)
        at = builder.phi(_I64)
        running = [builder.phi(first.type) for first in firsts]
        following = self._elements(builder, at_rows, at, fixed, in_rows, running, None)
        next_at = builder.add(at, _I64(self._lanes))
        _receive([at, *running], [_I64(0), *firsts], head)
        _receive([at, *running], [next_at, *following], loop)
        builder.cbranch(builder.icmp_signed("<", next_at, whole), loop, after)

        builder = ir.IRBuilder(after)
        folded = [builder.phi(first.type) for first in firsts]
        _receive(folded, firsts, head)
        _receive(folded, following, loop)
        if rest is not None:
            builder, folded = self._tail(builder, at_rows, whole, rest, fixed, in_rows, folded)
        for (node, array), vector in zip(in_rows, folded):
            self._fold_row(builder, node, array, at_rows[0], vector)
        return builder

    def _tail(
        self,
        builder: ir.IRBuilder,
        at_rows: Sequence[Sequence[ir.Value]],
        whole: ir.Value,
        rest: ir.Value,
        fixed: Sequence[dict[int, ir.Value]],
        in_rows: Sequence[tuple[Reduction, Array]],
        so_far: Sequence[ir.Value],
    ) -> tuple[ir.IRBuilder, list[ir.Value]]:
        """Write the columns that do not fill a vector; return the builder at the end and the new values of `so_far`."""
        lane = ir.Constant(ir.VectorType(_I32, self._lanes), [_I32(k) for k in range(self._lanes)])
        n_rest = spread(self._entry, self._entry.trunc(rest, _I32), self._lanes)
        mask = self._entry.icmp_signed("<", lane, n_rest)
        before = builder.block
        tail, end = (self._function.append_basic_block(name) for name in ("tail", "end"))
        builder.cbranch(builder.icmp_signed("!=", rest, _I64(0)), tail, end)
        builder = ir.IRBuilder(tail)
        last = self._elements(builder, at_rows, whole, fixed, in_rows, so_far, mask)
        builder.branch(end)
        builder = ir.IRBuilder(end)
        folded = [builder.phi(value.type) for value in so_far]
        _receive(folded, so_far, before)
        _receive(folded, last, tail)
        return builder, folded

    # ---- which values vary along a row

    def _is_field(self, node: Node) -> bool:
        return node in self._plan.graph.classes

    def _has_columns(self, array: Array) -> bool:
        """Whether an array has a different element in each column; true if there is only one column."""
        return self._column < 0 or self._column in array.classes

    def _varies(self, node: Node) -> bool:
        if node in self._stage.reads:
            return self._has_columns(self._stage.reads[node])
        return self._column < 0 or self._column in self._plan.graph.classes[node]

    # ---- elements

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
        """Compute a vector of columns; return the new values of `running`."""
        rows = [self._values(builder, *each, at, mask) for each in zip(at_rows, fixed)]
        (values, *others), (at_row, *_) = rows, at_rows
        for node, array in self._stage.stores:
            value = convert(builder, values[within(node).order], dtype_of(node), array.storage)
            pointer = self._pointer(builder, at_row, array, at)
            store(self._writer, builder, value, pointer, array.storage, mask, streaming=self._streaming)
        self._writer.builder = builder
        for node, array in self._stage.folds:
            if isinstance(node, Scattered):
                self._scatter(builder, node, array, at_row, values, mask)
            elif self._has_columns(array):
                order, dtype = within(node.operand).order, _folded_in(node)
                value = convert(builder, values[order], dtype_of(node), dtype)
                for other in others:
                    more = convert(builder, other[order], dtype_of(node), dtype)
                    value = folds.combine(self._writer, node.name, dtype, value, more)
                pointer = self._pointer(builder, at_row, array, at)
                before = load(self._writer, builder, pointer, array.storage, mask)
                value = convert(builder, value, dtype, array.storage)
                made = folds.combine(self._writer, node.name, array.storage, before, value)
                store(self._writer, builder, made, pointer, array.storage, mask)
        result = []
        for (node, _), before in zip(folded, running):
            dtype = _folded_in(node)
            value = convert(builder, values[within(node.operand).order], dtype_of(node), dtype)
            made = folds.combine(self._writer, node.name, dtype, before, value)
            result.append(made if mask is None else builder.select(mask, made, before))
        return result

    def _values(
        self,
        builder: ir.IRBuilder,
        at_row: Sequence[ir.Value],
        fixed: Mapping[int, ir.Value] | None = None,
        at: ir.Value | None = None,
        mask: ir.Value | None = None,
    ) -> dict[int, ir.Value]:
        """Compute the values of all nodes at the columns `at`; without `at` those that are constant along a row."""
        values = dict(fixed or {})
        for node in self._nodes:
            if not self._is_field(node) or self._varies(node) is (at is None):
                continue
            array = self._stage.reads.get(node)
            if array is None:
                assert isinstance(node, Operation)
                values[node.order] = self._operands.operation(builder, node, values)
                if node.name == "check":
                    _, are_inside, must_be = self._operands.of(builder, node, values)
                    self._note_outside(builder, are_inside, must_be, mask)
                continue
            if isinstance(node, Start):
                values[node.order] = self._pointer(builder, at_row, array, None)
                continue
            pointer = self._pointer(builder, at_row, array, at)
            if at is None:
                loaded = spread(builder, from_memory(builder, builder.load(pointer), array.storage), self._lanes)
            else:
                loaded = load(self._writer, builder, pointer, array.storage, mask)
            values[node.order] = convert(builder, loaded, array.storage, dtype_of(node))
        return values

    def _note_outside(
        self, builder: ir.IRBuilder, are_inside: ir.Value, must_be: ir.Value, mask: ir.Value | None
    ) -> None:
        """Note in the kernel's numbers whether places that must be inside an array are not, but for masked ones."""
        are_outside = builder.and_(builder.not_(are_inside), must_be)
        if mask is not None:
            are_outside = builder.and_(are_outside, mask)
        flags = ir.IntType(self._lanes)
        some = builder.icmp_unsigned("!=", builder.bitcast(are_outside, flags), flags(0))
        pointer = builder.gep(self._function.args[2], [_I64(OUTSIDE)])
        builder.store(builder.or_(builder.load(pointer), builder.zext(some, _I64)), pointer)

    def _scatter(
        self,
        builder: ir.IRBuilder,
        node: Scattered,
        array: Array,
        at_row: Sequence[ir.Value],
        values: Mapping[int, ir.Value],
        mask: ir.Value | None,
    ) -> None:
        """Combine elements of an array with vectors, one after the other, but for those that are masked."""
        operation, dtype, start = within(node.operand), dtype_of(node), self._pointer(builder, at_row, array, None)
        assert isinstance(operation, Operation)
        operands = self._operands.of(builder, operation, values)
        neutral = constant(neutral_of(node.name, dtype), dtype, self._lanes)
        for places, given in zip(operands[::2], operands[1::2]):
            if mask is not None:
                given = builder.select(mask, given, neutral)
                places = builder.select(mask, places, ir.Constant(places.type, 0))
            for lane in map(_I32, range(self._lanes)):
                pointer = builder.gep(start, [builder.extract_element(places, lane)])
                element = builder.extract_element(given, lane)
                builder.store(folds.combine(self._writer, node.name, dtype, builder.load(pointer), element), pointer)

    def _fold_row(
        self, builder: ir.IRBuilder, node: Reduction, array: Array, at_row: Sequence[ir.Value], vector: ir.Value
    ) -> None:
        """Reduce the lanes of a vector into the number in memory."""
        self._writer.builder = builder
        number = folds.across(self._writer, node.name, _folded_in(node), vector)
        number = convert(builder, number, _folded_in(node), array.storage)
        pointer = self._pointer(builder, at_row, array, None)
        before = from_memory(builder, builder.load(pointer), array.storage)
        made = folds.combine(self._writer, node.name, array.storage, before, number)
        builder.store(to_memory(builder, made, array.storage), pointer)

    # ---- memory

    def _pointer(
        self, builder: ir.IRBuilder, at_row: Sequence[ir.Value], array: Array, at: ir.Value | None
    ) -> ir.Value:
        element = storage_type(array.storage)
        pointer = builder.bitcast(at_row[self._arguments.index(array)], element.as_pointer())
        return pointer if at is None else builder.gep(pointer, [at])


def _receive(phis: Sequence[ir.Value], values: Sequence[ir.Value], block: ir.Block) -> None:
    """Let phis have these values on the way from a block."""
    for phi, value in zip(phis, values):
        phi.add_incoming(value, block)


def _folded_in(node: Reduction) -> np.dtype:
    """Return the dtype in which a row is reduced."""
    return computed_in(dtype_of(node))
