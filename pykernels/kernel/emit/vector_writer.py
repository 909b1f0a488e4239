"""Emit instructions and calls of mathematical functions, and convert between dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import llvmlite.ir as ir
import numpy as np

from pykernels.base.dtypes import is_bfloat16, real, seen_as
from pykernels.kernel.emit import inline_math, inline_tables, vector_math
from pykernels.kernel.emit.instructions import Instructions
from pykernels.kernel.emit.vector_math import InstructionSet

#: An operation: (writer, the dtype to compute in, operands of this dtype) -> value.
Emitter: TypeAlias = Callable[..., ir.Value]
#: LLVM's flags of arithmetic in a kernel whose file says ``FAST_MATH = True``. LLVM may regroup sums and products,
#: round a product and its sum once, replace divisions by a common divisor with multiplications by its reciprocal, and
#: ignore the sign of a zero. It may not assume that NaN and infinity never occur: extrema begin with infinity, and
#: sigmoid divides by it. With that assumption LLVM would also estimate reciprocals, which turns such a division into
#: NaN. The functions of C's mathematics are compiled without these flags: regrouping their sums would undo the
#: compensation for rounding errors.
FAST_MATH = ("reassoc", "nsz", "arcp", "contract")


class Writer(Instructions):
    """Emits instructions, and the mathematical functions that they call.

    Attributes
    ----------
    vector_math, scalar_math : set of str
        The functions emitted so far that are computed in vectors, and those computed lane by lane.
    has_calls : bool
        Whether any of them is called rather than inlined.
    needs_library : bool
        Whether any of them is called in the vector math library.
    flags : sequence of str
        The fast-math flags of the operations, see `FAST_MATH`.
    """

    def __init__(
        self, module: ir.Module, lanes: int, instruction_set: InstructionSet, flags: Sequence[str] = ()
    ) -> None:
        super().__init__(module, lanes)
        self.flags = flags
        self.has_calls = False
        self.needs_library = False
        self.vector_math: set[str] = set()
        self.scalar_math: set[str] = set()
        self._instruction_set = instruction_set

    def math(self, name: str, *operands: ir.Value) -> ir.Value:
        """Emit a C math function: inline, or its vector twin if there is one, otherwise lane by lane."""
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

    def _written_out(self, name: str, twin: str | None) -> Emitter | None:
        if self._instruction_set.name == "avx512" and self.lanes % 16 == 0:
            return inline_tables.INLINE.get(name)
        if not self._instruction_set.has_fma or (twin and name in inline_math.SLOWER):
            return None
        return inline_math.INLINE.get(name)


def _c_name(name: str, type_: ir.Type) -> str:
    return f"{name}f" if isinstance(type_, ir.FloatType) else name


def lane_type(dtype: np.dtype) -> ir.Type:
    """Return the type that an element is computed in: float32 for float16 and bfloat16."""
    if seen_as(dtype).kind == "f":
        return ir.DoubleType() if dtype == np.float64 else ir.FloatType()
    return ir.IntType(1 if dtype == np.bool_ else 8 * dtype.itemsize)


def storage_type(dtype: np.dtype) -> ir.Type:
    """Return the type of an element in memory."""
    if dtype.kind == "c":
        return ir.ArrayType(lane_type(real(dtype)), 2)
    if is_bfloat16(dtype):
        return ir.IntType(16)
    return ir.IntType(8) if dtype == np.bool_ else ir.HalfType() if dtype == np.float16 else lane_type(dtype)


def convert(builder: ir.IRBuilder, value: ir.Value, old: np.dtype, new: np.dtype) -> ir.Value:
    """Convert a value from one dtype to another, as NumPy casts. That of complex numbers is a pair of their parts."""
    if new.kind == "c":
        first, second = value if old.kind == "c" else (value, None)
        part = convert(builder, first, real(old), real(new))
        return part, number_like(part, 0) if second is None else convert(builder, second, real(old), real(new))
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
    # Convert through a wider integer, as NumPy's C code does on this processor.
    wide = ir.IntType(64 if new.itemsize == 8 or new == np.uint32 else 32)
    widened = builder.fptosi(value, ir.VectorType(wide, shape.count) if isinstance(shape, ir.VectorType) else wide)
    return widened if wide == to_type else builder.trunc(widened, shape)


def number_like(value: ir.Value, number: float) -> ir.Constant:
    """Return a number as a constant of the type of a value."""
    return ir.Constant(value.type, number)


def constant(number: Any, dtype: np.dtype, lanes: int) -> ir.Constant:
    """Return a known number as a constant of a dtype: in every lane of a vector, or as a scalar for 0 lanes."""
    if dtype.kind == "c":
        return tuple(constant(part, real(dtype), lanes) for part in (np.real(number), np.imag(number)))
    with np.errstate(all="ignore"):
        value = np.asarray(number).astype(np.float32 if dtype == np.float16 else dtype).item()
    type_ = lane_type(dtype)
    return ir.Constant(ir.VectorType(type_, lanes) if lanes else type_, value)


def spread(builder: ir.IRBuilder, number: ir.Value, lanes: int) -> ir.Value:
    """Repeat a number in every lane of a vector."""
    if isinstance(number, tuple):
        return tuple(spread(builder, part, lanes) for part in number)
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), 0))
