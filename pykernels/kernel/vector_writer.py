"""Where the instructions of a kernel are written to, and the types of what they compute with, in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel import inline_math, inline_tables, vector_math
from pykernels.kernel.vector_math import InstructionSet

__all__ = ["Emitter", "Writer", "convert", "lane_type", "number_like"]

_I32 = ir.IntType(32)
_REGISTER = ir.VectorType(ir.FloatType(), 16)  # of AVX-512
#: An operation: (writer, the dtype to compute in, operands of this dtype) -> value.
Emitter: TypeAlias = Callable[..., ir.Value]


class Writer:
    """Where instructions are written to, and which functions they call.

    Attributes
    ----------
    lanes : int
        The length of every vector.
    builder : ir.IRBuilder
        Where the next instruction goes.
    vector_math, scalar_math : set of str
        The functions computed in vectors so far, and lane by lane.
    has_calls : bool
        Whether any of them is called, not written out.
    needs_library : bool
        Whether any is called in the vector math library.
    flags : sequence of str
        What LLVM may do to the arithmetic of the operations (`fast_math`).
    """

    builder: ir.IRBuilder

    def __init__(
        self, module: ir.Module, lanes: int, instruction_set: InstructionSet, flags: Sequence[str] = ()
    ) -> None:
        self.module = module
        self.flags = flags
        self.lanes = lanes
        self.has_calls = False
        self.needs_library = False
        self.vector_math: set[str] = set()
        self.scalar_math: set[str] = set()
        self._fractions: set[ir.Value] = set()
        self._instruction_set = instruction_set

    def intrinsic(self, name: str, *operands: ir.Value) -> ir.Value:
        """Call an operation of LLVM's, such as ``sqrt``."""
        type_ = operands[0].type
        return self._call(f"llvm.{name}.{_mangled(type_)}", *operands)

    def math(self, name: str, *operands: ir.Value) -> ir.Value:
        """A function of C's mathematics: written out, or its vector twin if there is one, else lane by lane."""
        vector = operands[0].type
        if not isinstance(vector, ir.VectorType):
            return self._call(_c_name(name, vector), *operands)
        function = _c_name(name, vector.element)
        item_size = 4 if isinstance(vector.element, ir.FloatType) else 8
        width = min(self.lanes, self._instruction_set.register // item_size)
        twin = vector_math.find(function, len(operands), item_size, width, self._instruction_set)
        inline = self._written_out(name, twin) if item_size == 4 else None
        if inline:
            self.vector_math.add(function)
            result = inline(self, *operands)
            if name == "exp" and self.is_nonpositive(operands[0]):
                self._fractions.add(result)
            return result
        self.has_calls = True
        if twin is None:
            self.scalar_math.add(function)
            return self._lane_by_lane(function, operands)
        self.needs_library = True
        self.vector_math.add(function)
        parts = [
            self._call(twin, *(self._part(operand, at, width) for operand in operands))
            for at in range(0, self.lanes, width)
        ]
        return self._joined(parts)

    def is_nonpositive(self, value: ir.Value) -> bool:
        """Whether a number is certainly not above 0, or NaN: it is ``-abs(...)``."""
        if getattr(value, "opname", "") != "fneg":
            return False
        (size,) = value.operands
        return isinstance(size, ir.CallInstr) and size.callee.name.startswith("llvm.fabs.")

    def is_fraction(self, value: ir.Value) -> bool:
        """Whether a number is certainly between 0 and 1, or NaN: it is ``exp(-abs(...))``."""
        return value in self._fractions

    def has_tables(self) -> bool:
        """Whether there are the instructions of `avx512` and `lookup`."""
        return self._instruction_set.name == "avx512" and self.lanes % 16 == 0

    def avx512(self, name: str, *operands: ir.Value, immediate: int | None = None) -> ir.Value:
        """An operation of AVX-512 on vectors of float32, such as ``scalef``."""
        every_lane, as_usual = ir.IntType(16)(-1), _I32(4)
        immediates = [] if immediate is None else [_I32(immediate)]
        rest = [*immediates, ir.Constant(_REGISTER, 0), every_lane, as_usual]
        return self._by_register(f"llvm.x86.avx512.mask.{name}.ps.512", operands, rest)

    def lookup(self, table: Sequence[float], index: ir.Value) -> ir.Value:
        """An element of a table of 32 float32, by the lowest five bits of the index."""
        low, high = (ir.Constant(_REGISTER, [float(np.float32(c)) for c in table[at : at + 16]]) for at in (0, 16))
        return self._by_register("llvm.x86.avx512.vpermi2var.ps.512", [index], [high], first=[low])

    def _written_out(self, name: str, twin: str | None) -> Emitter | None:
        if self.has_tables():
            return inline_tables.INLINE.get(name)
        if not self._instruction_set.has_fma or (twin and name in inline_math.SLOWER):
            return None
        return inline_math.INLINE.get(name)

    def _by_register(
        self, name: str, vectors: Sequence[ir.Value], last: Sequence[ir.Value], first: Sequence[ir.Value] = ()
    ) -> ir.Value:
        """Call an operation on registers for each part of the vectors in turn."""
        parts = []
        for at in range(0, self.lanes, 16):
            operands = [*first, *(self._part(vector, at, 16) for vector in vectors), *last]
            function = self.module.globals.get(name) or ir.Function(
                self.module, ir.FunctionType(_REGISTER, [operand.type for operand in operands]), name
            )
            parts.append(self.builder.call(function, operands))
        return self._joined(parts)

    def _call(self, name: str, *operands: ir.Value) -> ir.Value:
        function = self.module.globals.get(name)
        if function is None:
            type_ = ir.FunctionType(operands[0].type, [operand.type for operand in operands])
            function = ir.Function(self.module, type_, name)
            if not name.startswith("llvm."):
                function.attributes.add("nounwind")
                function.attributes.add("readnone")
        return self.builder.call(function, operands)

    def _lane_by_lane(self, function: str, operands: tuple[ir.Value, ...]) -> ir.Value:
        result = ir.Constant(operands[0].type, ir.Undefined)
        for at in range(self.lanes):
            lane = self._call(function, *(self.builder.extract_element(operand, _I32(at)) for operand in operands))
            result = self.builder.insert_element(result, lane, _I32(at))
        return result

    def _part(self, vector: ir.Value, at: int, width: int) -> ir.Value:
        if width == self.lanes:
            return vector
        mask = ir.Constant(ir.VectorType(_I32, width), [_I32(at + k) for k in range(width)])
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)

    def _joined(self, parts: list[ir.Value]) -> ir.Value:
        while len(parts) > 1:
            width = 2 * parts[0].type.count
            mask = ir.Constant(ir.VectorType(_I32, width), [_I32(k) for k in range(width)])
            parts = [self.builder.shuffle_vector(a, b, mask) for a, b in zip(parts[::2], parts[1::2])]
        return parts[0]


def _c_name(name: str, type_: ir.Type) -> str:
    return f"{name}f" if isinstance(type_, ir.FloatType) else name


def _mangled(type_: ir.Type) -> str:
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{_mangled(type_.element)}"
    return "f32" if isinstance(type_, ir.FloatType) else "f64" if isinstance(type_, ir.DoubleType) else str(type_)


def lane_type(dtype: np.dtype) -> ir.Type:
    """What an element is computed in: float16 in float32."""
    if dtype.kind == "f":
        return ir.DoubleType() if dtype == np.float64 else ir.FloatType()
    return ir.IntType(1 if dtype == np.bool_ else 8 * dtype.itemsize)


def convert(builder: ir.IRBuilder, value: ir.Value, old: np.dtype, new: np.dtype) -> ir.Value:
    """A value of one dtype as one of another, as NumPy casts."""
    from_type, to_type = lane_type(old), lane_type(new)
    if new == np.bool_ and old != np.bool_:
        zero = ir.Constant(value.type, 0)
        return (
            builder.fcmp_unordered("!=", value, zero) if old.kind == "f" else builder.icmp_unsigned("!=", value, zero)
        )
    if from_type == to_type:
        return value
    shape = ir.VectorType(to_type, value.type.count) if isinstance(value.type, ir.VectorType) else to_type
    if old.kind == "f" and new.kind == "f":
        return builder.fpext(value, shape) if new == np.float64 else builder.fptrunc(value, shape)
    if new.kind == "f":
        return builder.sitofp(value, shape) if old.kind == "i" else builder.uitofp(value, shape)
    if old.kind != "f":
        if new.itemsize < old.itemsize:
            return builder.trunc(value, shape)
        return builder.sext(value, shape) if old.kind == "i" else builder.zext(value, shape)
    if new == np.uint64:
        return builder.fptoui(value, shape)
    # By way of a wider integer, as the C code of NumPy does on this processor.
    wide = ir.IntType(64 if new.itemsize == 8 or new == np.uint32 else 32)
    widened = builder.fptosi(value, ir.VectorType(wide, shape.count) if isinstance(shape, ir.VectorType) else wide)
    return widened if wide == to_type else builder.trunc(widened, shape)


def number_like(value: ir.Value, number: float) -> ir.Constant:
    """A number of the type of a value."""
    return ir.Constant(value.type, number)
