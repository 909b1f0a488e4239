"""Emit instructions on vectors, and the steps that inline functions have in common."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite.ir as ir
import numpy as np

_I32 = ir.IntType(32)
_REGISTER = ir.VectorType(ir.FloatType(), 16)  # of AVX-512


class Instructions:
    """Emits instructions into a module.

    Attributes
    ----------
    lanes : int
        The length of every vector.
    builder : ir.IRBuilder
        The position of the next instruction.
    """

    builder: ir.IRBuilder

    def __init__(self, module: ir.Module, lanes: int) -> None:
        self.module = module
        self.lanes = lanes
        self._fractions: set[ir.Value] = set()

    def intrinsic(self, name: str, *operands: ir.Value) -> ir.Value:
        """Call an intrinsic of LLVM, such as ``sqrt``."""
        type_ = operands[0].type
        return self._call(f"llvm.{name}.{mangled(type_)}", *operands)

    def is_nonpositive(self, value: ir.Value) -> bool:
        """Whether a value is known to be at most 0 or NaN, because it is ``-abs(...)``."""
        if getattr(value, "opname", "") != "fneg":
            return False
        (size,) = value.operands
        return isinstance(size, ir.CallInstr) and size.callee.name.startswith("llvm.fabs.")

    def is_fraction(self, value: ir.Value) -> bool:
        """Whether a value is known to be between 0 and 1 or NaN, because it is ``exp(-abs(...))``."""
        return value in self._fractions

    def avx512(self, name: str, *operands: ir.Value, immediate: int | None = None) -> ir.Value:
        """Call an AVX-512 operation on vectors of float32, such as ``scalef``."""
        every_lane, as_usual = ir.IntType(16)(-1), _I32(4)
        immediates = [] if immediate is None else [_I32(immediate)]
        rest = [*immediates, ir.Constant(_REGISTER, 0), every_lane, as_usual]
        return self._by_register(f"llvm.x86.avx512.mask.{name}.ps.512", operands, rest)

    def lookup(self, table: Sequence[float], index: ir.Value) -> ir.Value:
        """Look up an element in a table of 32 float32 numbers by the lowest five bits of the index."""
        low, high = (ir.Constant(_REGISTER, [float(np.float32(c)) for c in table[at : at + 16]]) for at in (0, 16))
        return self._by_register("llvm.x86.avx512.vpermi2var.ps.512", [index], [high], first=[low])

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


def mangled(type_: ir.Type) -> str:
    """Return a type as the names of LLVM's intrinsics spell it."""
    if isinstance(type_, ir.VectorType):
        return f"v{type_.count}{mangled(type_.element)}"
    return "f32" if isinstance(type_, ir.FloatType) else "f64" if isinstance(type_, ir.DoubleType) else str(type_)


def polynomial(w: Instructions, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """Emit a polynomial whose coefficients are given from the highest power to the lowest."""
    total: ir.Value = constant(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total = fma(w, total, x, constant(x, coefficient))
    return total


def fma(w: Instructions, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """Emit ``a * b + c``, rounded once."""
    return w.intrinsic("fma", a, b, c)


def least(w: Instructions, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the minimum of two numbers; `b` if either is NaN, like the processor's instruction."""
    return w.builder.select(w.builder.fcmp_ordered("<", a, b), a, b)


def greatest(w: Instructions, a: ir.Value, b: ir.Value) -> ir.Value:
    """Emit the maximum of two numbers; `b` if either is NaN."""
    return w.builder.select(w.builder.fcmp_ordered(">", a, b), a, b)


def constant(like: ir.Value, number: float) -> ir.Constant:
    """Return a number, rounded to float32, as a constant of the type of `like`."""
    return ir.Constant(like.type, float(np.float32(number)))


def integer(like: ir.Value, number: int) -> ir.Constant:
    """Return a 32-bit integer as a constant with as many lanes as `like`."""
    return ir.Constant(ir.VectorType(_I32, like.type.count), number)


def bits(w: Instructions, x: ir.Value) -> ir.Value:
    """Return the bits of float32 numbers as integers."""
    return w.builder.bitcast(x, ir.VectorType(_I32, x.type.count))
