"""The machine code of an elementwise expression: a function that computes whole vectors of elements.

It is written straight as LLVM IR on vectors, so every element goes through the same instructions wherever it lies,
and nothing is left to an optimiser's judgement. Ragged ends and broadcasting are the driver's business, which is in
``cpp_defs/runtime/elementwise.cpp``; the names that both share are explained there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numpy as np

from pykernels.build import linking
from pykernels.kernel.emit import number_checks, target, vector_math
from pykernels.kernel.emit.fast_math import FLAGS
from pykernels.kernel.emit.vector_operations import OPERATIONS
from pykernels.kernel.emit.vector_writer import Writer, convert, lane_type
from pykernels.kernel.expression.elementwise import Elementwise
from pykernels.kernel.expression.nodes import Input, Keyword, Node, Operand, Operation, dtype_of, in_order, is_array
from pykernels.kernel.facts import ELEMENTWISE, Facts

__all__ = ["compile_kernel", "constant", "spread", "storage_type"]

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_HALF = ir.HalfType()
_BYTES = _I8.as_pointer()


def compile_kernel(expression: Elementwise, output: Path, where: str, *, fast_math: bool) -> Facts:
    """Compile an expression into a shared object with the function `linking.ENTRY`.

    Parameters
    ----------
    output : Path
        Where the shared object goes.
    where : str
        The kernel, for the message if the linker fails.
    fast_math : bool
        Whether LLVM may change its arithmetic.

    Raises
    ------
    BuildError
        There is no compiler to link with, or it failed.
    """
    instructions = target.instruction_set()
    lanes = instructions.register // _widest(expression)
    # The steps of several registers are taken in turns, so that one need not wait for the other. Around a call they
    # would have to go through memory.
    writer = _write(expression, lanes * (2 if instructions.register == 64 else 4), fast_math)
    if writer.has_calls:
        writer = _write(expression, lanes, fast_math)
    parsed = llvm.parse_assembly(str(writer.module))
    for value in [*parsed.functions, *parsed.global_variables]:
        if not value.is_declaration:
            value.visibility = "hidden"
    target.optimise(parsed, level=2)
    libraries = [str(vector_math.path()), "-lm"] if writer.needs_library else ["-lm"]
    linking.link(target.machine().emit_object(parsed), ["elementwise"], libraries, output, where)
    return Facts(
        ELEMENTWISE,
        vector_math=tuple(sorted(writer.vector_math)),
        scalar_math=tuple(sorted(writer.scalar_math)),
        instruction_set=instructions.name,
        fast_math=fast_math,
    )


def _write(expression: Elementwise, lanes: int, fast_math: bool) -> Writer:
    module = ir.Module("elementwise")
    module.triple = llvm.get_default_triple()
    writer = Writer(module, lanes, target.instruction_set(), FLAGS if fast_math else ())
    _Body(writer, expression).write()
    number_checks.write(Writer(module, lanes, target.instruction_set()), expression.outputs, _slot_of, constant)
    _describe(module, expression, lanes)
    return writer


def _slot_of(node: Node) -> int:
    assert isinstance(node, Keyword)
    return node.slot


def _widest(expression: Elementwise) -> int:
    """Bytes of the widest numbers that the expression computes with, but not less than those of float32.

    A vector of these fits a register.
    """
    arrays = (node for node in in_order(expression.outputs) if is_array(node))
    dtypes = (node.dtype if isinstance(node, Operation) else dtype_of(node) for node in arrays)
    return max(4, *(dtype.itemsize for dtype in dtypes))


class _Body:
    """``void pk_body(inputs, outputs, scalars, n, streaming)``: `n` vectors, at least one."""

    def __init__(self, writer: Writer, expression: Elementwise) -> None:
        self._writer = writer
        self._expression = expression
        self._nodes = in_order(expression.outputs)
        pointers = _BYTES.as_pointer()
        type_ = ir.FunctionType(ir.VoidType(), [pointers, pointers, _I64.as_pointer(), _I64, _I32])
        self._function = ir.Function(writer.module, type_, "pk_body")
        self._function.attributes.add("nounwind")
        # Registers that are saved around a call would else straddle lines of the cache, which costs as much as the
        # call. (llvmlite's own `add` knows no attributes in quotes.)
        set.add(self._function.attributes, '"stackrealign"')
        # Whatever does not change from vector to vector stands before the loop.
        self._before = ir.IRBuilder(self._function.append_basic_block("entry"))
        self._numbers: dict[int, ir.Value] = {}
        self._spread: dict[tuple[int, str], ir.Value] = {}

    def write(self) -> None:
        inputs, outputs, scalars, count, streaming = self._function.args
        for node in self._nodes:
            if not is_array(node):
                self._numbers[node.order] = self._number(node, scalars)
        sources = {
            node.position: self._pointer(inputs, node.position, dtype_of(node))
            for node in self._nodes
            if isinstance(node, Input)
        }
        targets = [self._pointer(outputs, at, dtype_of(node)) for at, node in enumerate(self._expression.outputs)]
        loops = [self._loop(sources, targets, count, is_streaming) for is_streaming in (True, False)]
        self._before.cbranch(self._before.icmp_unsigned("!=", streaming, _I32(0)), *loops)

    def _pointer(self, table: ir.Value, at: int, dtype: np.dtype) -> ir.Value:
        pointer = self._before.load(self._before.gep(table, [_I64(at)]))
        return self._before.bitcast(pointer, ir.VectorType(storage_type(dtype), self._writer.lanes).as_pointer())

    def _number(self, node: Node, scalars: ir.Value) -> ir.Value:
        if isinstance(node, Keyword):
            slot = self._before.gep(scalars, [_I64(node.slot)])
            if isinstance(node.sample, float):
                return self._before.load(self._before.bitcast(slot, ir.DoubleType().as_pointer()))
            value = self._before.load(slot)
            return self._before.icmp_signed("!=", value, _I64(0)) if isinstance(node.sample, bool) else value
        assert isinstance(node, Operation)
        return self._operation(self._before, node, self._numbers, 0)

    def _loop(self, sources: dict[int, ir.Value], targets: Sequence[ir.Value], count: ir.Value, stream: bool) -> Any:
        block = self._function.append_basic_block("streaming" if stream else "loop")
        done = self._function.append_basic_block("done")
        ir.IRBuilder(done).ret_void()
        builder = ir.IRBuilder(block)
        at = builder.phi(_I64)
        at.add_incoming(_I64(0), self._before.block)
        values: dict[int, ir.Value] = {}
        for node in self._nodes:
            if isinstance(node, Input):
                values[node.order] = self._load(builder, builder.gep(sources[node.position], [at]), dtype_of(node))
            elif isinstance(node, Operation) and is_array(node):
                values[node.order] = self._operation(builder, node, values, self._writer.lanes)
        for pointer, node in zip(targets, self._expression.outputs):
            self._store(builder, values[node.order], builder.gep(pointer, [at]), dtype_of(node), stream)
        following = builder.add(at, _I64(1))
        at.add_incoming(following, block)
        builder.cbranch(builder.icmp_signed("<", following, count), block, done)
        return block

    def _load(self, builder: ir.IRBuilder, pointer: ir.Value, dtype: np.dtype) -> ir.Value:
        value = builder.load(pointer, align=dtype.itemsize)
        if dtype == np.bool_:
            return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
        if dtype == np.float16:
            return builder.fpext(value, ir.VectorType(ir.FloatType(), self._writer.lanes))
        return value

    def _store(self, builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, dtype: np.dtype, stream: bool) -> None:
        vector = ir.VectorType(storage_type(dtype), self._writer.lanes)
        if dtype == np.bool_:
            value = builder.zext(value, vector)
        elif dtype == np.float16:
            value = builder.fptrunc(value, vector)
        store = builder.store(value, pointer, align=dtype.itemsize * (self._writer.lanes if stream else 1))
        if stream:
            store.set_metadata("nontemporal", self._writer.module.add_metadata([_I32(1)]))

    def _operation(self, builder: ir.IRBuilder, node: Operation, values: dict[int, ir.Value], lanes: int) -> ir.Value:
        self._writer.builder = builder
        types = [node.dtype] * len(node.operands)
        if node.name == "where":
            types[0] = np.dtype(np.bool_)
        operands = [self._operand(builder, o, dtype, values, lanes) for o, dtype in zip(node.operands, types)]
        return OPERATIONS[node.name](self._writer, node.dtype, *operands)

    def _operand(
        self, builder: ir.IRBuilder, operand: Operand, dtype: np.dtype, values: dict[int, ir.Value], lanes: int
    ) -> ir.Value:
        if not isinstance(operand, Node):
            return constant(operand, dtype, lanes)
        if is_array(operand) or not lanes:
            return convert(builder, values[operand.order], dtype_of(operand), dtype)
        key = (operand.order, dtype.str)
        if key not in self._spread:
            number = convert(self._before, self._numbers[operand.order], dtype_of(operand), dtype)
            self._spread[key] = spread(self._before, number, lanes)
        return self._spread[key]


def storage_type(dtype: np.dtype) -> ir.Type:
    """How an element lies in memory."""
    return _I8 if dtype == np.bool_ else _HALF if dtype == np.float16 else lane_type(dtype)


def constant(number: Any, dtype: np.dtype, lanes: int) -> ir.Constant:
    """A number that is known, as one of a dtype, in every lane of a vector; or by itself if there are no lanes."""
    with np.errstate(all="ignore"):
        value = np.asarray(number).astype(np.float32 if dtype == np.float16 else dtype).item()
    type_ = lane_type(dtype)
    return ir.Constant(ir.VectorType(type_, lanes) if lanes else type_, value)


def spread(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """A vector of one number."""
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, _I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, lanes), 0))


def _describe(module: ir.Module, expression: Elementwise, lanes: int) -> None:
    """Write down what the driver must know."""
    tensors = [*expression.inputs, *map(dtype_of, expression.outputs)]
    shapes = [sum(1 << at for at in node.inputs) for node in expression.outputs]
    for name, values in {
        "pk_counts": [len(expression.inputs), len(expression.outputs), lanes],
        "pk_item_sizes": [dtype.itemsize for dtype in tensors],
        "pk_shapes": shapes,
    }.items():
        numbers = ir.Constant(ir.ArrayType(_I32, len(values)), values)
        variable = ir.GlobalVariable(module, numbers.type, name)
        variable.global_constant = True
        variable.initializer = numbers
