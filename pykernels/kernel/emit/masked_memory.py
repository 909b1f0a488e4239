"""Emit loads and stores of vectors: masked at the end of a row, past the caches, or from computed places."""

from __future__ import annotations

import llvmlite.ir as ir
import numpy as np

from pykernels.base.dtypes import is_bfloat16, real
from pykernels.kernel.emit import bfloat16
from pykernels.kernel.emit.instructions import mangled
from pykernels.kernel.emit.vector_writer import Writer, constant, spread, storage_type

_I16, _I32 = ir.IntType(16), ir.IntType(32)


def load(
    w: Writer, builder: ir.IRBuilder, pointer: ir.Value, storage: np.dtype, mask: ir.Value | None = None
) -> ir.Value:
    """Load a vector and convert it to the type that it is computed in; without a mask, load all lanes."""
    if storage.kind == "c":
        assert mask is None, "elementwise kernels compute whole vectors"
        return _load_parts(w, builder, pointer, real(storage))
    type_ = ir.VectorType(_transferred_as(storage), w.lanes)
    pointer = builder.bitcast(pointer, type_.as_pointer())
    if mask is None:
        value = builder.load(pointer, align=storage.itemsize)
    else:
        operands = pointer, _I32(storage.itemsize), mask, _ones(storage, type_)
        value = builder.call(_masked(w, f"load.{mangled(type_)}.p0", type_, operands), operands)
    return from_memory(builder, _bits(builder, value, storage_type(storage)), storage, w.lanes)


def _load_parts(w: Writer, builder: ir.IRBuilder, pointer: ir.Value, part: np.dtype) -> tuple[ir.Value, ir.Value]:
    """Load a vector of complex numbers, both parts of each in turn, as a vector of each part."""
    type_ = ir.VectorType(storage_type(part), 2 * w.lanes)
    both = builder.load(builder.bitcast(pointer, type_.as_pointer()), align=part.itemsize)
    undefined, places = ir.Constant(type_, ir.Undefined), ir.VectorType(_I32, w.lanes)
    first, second = (
        builder.shuffle_vector(both, undefined, ir.Constant(places, [_I32(2 * at + side) for at in range(w.lanes)]))
        for side in (0, 1)
    )
    return first, second


def _ones(storage: np.dtype, type_: ir.VectorType) -> ir.Constant:
    """Return what fills masked lanes: numbers for which no operation is slow."""
    if storage.kind == "f" and storage.itemsize > 2:
        return constant(1, storage, type_.count)
    return ir.Constant(type_, bfloat16.ONE if is_bfloat16(storage) else 1)


def store(
    w: Writer,
    builder: ir.IRBuilder,
    value: ir.Value,
    pointer: ir.Value,
    storage: np.dtype,
    mask: ir.Value | None = None,
    *,
    streaming: bool = False,
) -> None:
    """Store a vector; if `streaming`, past the caches, to memory that is aligned for the vector."""
    if storage.kind == "c":
        assert mask is None, "elementwise kernels compute whole vectors"
        lanes = [_I32(at + side) for at in range(w.lanes) for side in (0, w.lanes)]
        value = builder.shuffle_vector(*value, ir.Constant(ir.VectorType(_I32, 2 * w.lanes), lanes))
        storage = real(storage)
    value = _bits(builder, to_memory(builder, value, storage, w.lanes), _transferred_as(storage))
    pointer = builder.bitcast(pointer, value.type.as_pointer())
    if mask is None:
        stored = builder.store(value, pointer, align=storage.itemsize * (value.type.count if streaming else 1))
        if streaming:
            stored.set_metadata("nontemporal", w.module.add_metadata([_I32(1)]))
    else:
        operands = value, pointer, _I32(storage.itemsize), mask
        builder.call(_masked(w, f"store.{mangled(value.type)}.p0", ir.VoidType(), operands), operands)


def gather(w: Writer, storage: np.dtype, start: ir.Value, places: ir.Value) -> ir.Value:
    """Load the elements at places behind a pointer: by one instruction where LLVM takes that for quicker than many."""
    builder, type_ = w.builder, ir.VectorType(_transferred_as(storage), w.lanes)
    # llvmlite's `gep` takes no vectors.
    offsets = builder.mul(places, ir.Constant(places.type, storage.itemsize))
    first = spread(builder, builder.ptrtoint(start, places.type.element), w.lanes)
    pointers = builder.inttoptr(builder.add(first, offsets), ir.VectorType(type_.element.as_pointer(), w.lanes))
    mask = ir.Constant(ir.VectorType(ir.IntType(1), w.lanes), 1)
    operands = pointers, _I32(storage.itemsize), mask, ir.Constant(type_, ir.Undefined)
    value = builder.call(_masked(w, f"gather.{mangled(type_)}.v{w.lanes}p0", type_, operands), operands)
    return from_memory(builder, _bits(builder, value, storage_type(storage)), storage, w.lanes)


def _masked(w: Writer, name: str, returned: ir.Type, operands: tuple[ir.Value, ...]) -> ir.Function:
    type_ = ir.FunctionType(returned, [operand.type for operand in operands])
    return w.module.globals.get(f"llvm.masked.{name}") or ir.Function(w.module, type_, f"llvm.masked.{name}")


def _transferred_as(storage: np.dtype) -> ir.Type:
    """Return the type of masked loads and stores: half floats are transferred as their bits."""
    return _I16 if storage == np.float16 else storage_type(storage)


def _bits(builder: ir.IRBuilder, value: ir.Value, element: ir.Type) -> ir.Value:
    type_ = ir.VectorType(element, value.type.count)
    return value if value.type == type_ else builder.bitcast(value, type_)


def from_memory(builder: ir.IRBuilder, value: ir.Value, storage: np.dtype, lanes: int = 0) -> ir.Value:
    """Convert a value from its type in memory to the type that it is computed in."""
    if storage == np.bool_:
        return builder.icmp_unsigned("!=", value, ir.Constant(value.type, 0))
    if storage == np.float16:
        return builder.fpext(value, ir.VectorType(ir.FloatType(), lanes) if lanes else ir.FloatType())
    return bfloat16.widened(builder, value) if is_bfloat16(storage) else value


def to_memory(builder: ir.IRBuilder, value: ir.Value, storage: np.dtype, lanes: int = 0) -> ir.Value:
    """Convert a value from the type that it is computed in to its type in memory."""
    element = storage_type(storage)
    type_ = ir.VectorType(element, lanes) if lanes else element
    if storage == np.bool_:
        return builder.zext(value, type_)
    if storage == np.float16:
        return builder.fptrunc(value, type_)
    return bfloat16.narrowed(builder, value) if is_bfloat16(storage) else value
