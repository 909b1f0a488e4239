"""Each operation of an expression in LLVM IR, on numbers and on vectors alike, with NumPy's special cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import llvmlite.ir as ir
import numpy as np

from pykernels.kernel import inline_math, inline_tables, vector_math
from pykernels.kernel.vector_math import InstructionSet

__all__ = ["OPERATIONS", "Writer", "convert", "lane_type"]

_I32 = ir.IntType(32)
_REGISTER = ir.VectorType(ir.FloatType(), 16)  # of AVX-512
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


# ---- types


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


# ---- operations: (writer, the dtype to compute in, operands of this dtype) -> value


def _constant(value: ir.Value, number: float) -> ir.Constant:
    return ir.Constant(value.type, number)


def _number(value: ir.Value) -> float:
    """The number that a value is known to be; NaN if it is not known."""
    if not isinstance(value, ir.Constant):
        return math.nan
    number = value.constant[0].constant if isinstance(value.type, ir.VectorType) else value.constant
    return float(number)


def _by_kind(real: str, signed: str, unsigned: str | None = None, truth: str | None = None) -> Emitter:
    """An operation that is one instruction for each kind of dtype."""
    names = {"i": signed, "u": unsigned or signed, "b": truth or unsigned or signed}

    def emit(w: Writer, dtype: np.dtype, *operands: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            return getattr(w.builder, real)(*operands, flags=w.flags)
        return getattr(w.builder, names[dtype.kind])(*operands)

    return emit


def _compare(symbol: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        if dtype.kind == "f":
            return (w.builder.fcmp_unordered if symbol == "!=" else w.builder.fcmp_ordered)(symbol, a, b)
        return (w.builder.icmp_signed if dtype.kind == "i" else w.builder.icmp_unsigned)(symbol, a, b)

    return emit


def _extreme(symbol: str, *, ignores_nan: bool) -> Emitter:
    """The greater or the smaller; of equal ones the second, as NumPy's vector code does it (it shows in zeros)."""

    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        bound = _number(b) if dtype.kind == "f" and not ignores_nan else math.nan
        if bound == bound and (bound or math.copysign(1, bound) > 0):
            # One instruction, which gives its second operand if either is NaN or both are zeros.
            first = w.builder.select(_compare(symbol)(w, dtype, b, a), b, a)
            return first if bound else w.builder.fadd(first, b)  # -0 + 0 is 0
        first = w.builder.select(_compare(symbol)(w, dtype, a, b), a, b)
        if dtype.kind != "f":
            return first
        decisive = b if ignores_nan else a
        return w.builder.select(w.builder.fcmp_unordered("uno", decisive, decisive), a, first)

    return emit


def _rounding(name: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
        return w.intrinsic(name, a) if dtype.kind == "f" else a

    return emit


def _function(name: str) -> Emitter:
    def emit(w: Writer, dtype: np.dtype, *operands: ir.Value) -> ir.Value:
        return w.math(name, *operands)

    return emit


def _absolute(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        return w.intrinsic("fabs", a)
    if dtype.kind != "i":
        return a
    return w.builder.select(w.builder.icmp_signed("<", a, _constant(a, 0)), w.builder.neg(a), a)


def _sign(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    zero, one = _constant(a, 0), _constant(a, 1)
    if dtype.kind == "u":
        return w.builder.select(w.builder.icmp_unsigned("!=", a, zero), one, zero)
    below = w.builder.select(_compare("<")(w, dtype, a, zero), _constant(a, -1), zero)
    sign = w.builder.select(_compare(">")(w, dtype, a, zero), one, below)
    return w.builder.select(w.builder.fcmp_unordered("uno", a, a), a, sign) if dtype.kind == "f" else sign


def _square(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return OPERATIONS["multiply"](w, dtype, a, a)


def _reciprocal(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return OPERATIONS["divide"](w, dtype, _constant(a, 1), a)


def _floor_divide(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return _divide_with_floor(w, dtype, a, b)[0]


def _remainder(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return _divide_with_floor(w, dtype, a, b)[1]


def _divide_with_floor(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Quotient and remainder whose sign is that of the divisor, in NumPy's steps."""
    return (_divide_reals if dtype.kind == "f" else _divide_integers)(w, dtype, a, b)


def _divide_reals(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    builder, zero = w.builder, _constant(a, 0)
    remainder = w.math("fmod", a, b)
    quotient = builder.fdiv(builder.fsub(a, remainder), b)
    is_rest = builder.fcmp_unordered("!=", remainder, zero)
    signs_differ = builder.xor(builder.fcmp_ordered("<", b, zero), builder.fcmp_ordered("<", remainder, zero))
    corrects = builder.and_(is_rest, signs_differ)
    quotient = builder.select(corrects, builder.fsub(quotient, _constant(a, 1)), quotient)
    adjusted = builder.select(corrects, builder.fadd(remainder, b), remainder)
    adjusted = builder.select(is_rest, adjusted, w.intrinsic("copysign", zero, b))
    floor = w.intrinsic("floor", quotient)
    too_low = builder.fcmp_ordered(">", builder.fsub(quotient, floor), _constant(a, 0.5))
    floor = builder.select(too_low, builder.fadd(floor, _constant(a, 1)), floor)
    whole = builder.fdiv(a, b)
    is_zero = builder.fcmp_ordered("==", quotient, zero)
    floor = builder.select(is_zero, w.intrinsic("copysign", zero, whole), floor)
    by_zero = builder.fcmp_ordered("==", b, zero)
    return builder.select(by_zero, whole, floor), builder.select(by_zero, remainder, adjusted)


def _divide_integers(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A division by zero gives 0; the smallest number by -1 itself, since it wraps."""
    builder, zero, one = w.builder, _constant(a, 0), _constant(a, 1)
    by_zero = builder.icmp_unsigned("==", b, zero)
    divisor = builder.select(by_zero, one, b)
    if dtype.kind == "u":
        quotient, rest = builder.udiv(a, divisor), builder.urem(a, divisor)
    else:
        by_minus_one = builder.icmp_signed("==", divisor, _constant(a, -1))
        safe = builder.select(by_minus_one, one, divisor)
        quotient = builder.select(by_minus_one, builder.neg(a), builder.sdiv(a, safe))
        rest = builder.srem(a, safe)
        signs_differ = builder.icmp_signed("<", builder.xor(rest, divisor), zero)
        corrects = builder.and_(builder.icmp_signed("!=", rest, zero), signs_differ)
        quotient = builder.select(corrects, builder.sub(quotient, one), quotient)
        rest = builder.select(corrects, builder.add(rest, divisor), rest)
    return builder.select(by_zero, zero, quotient), builder.select(by_zero, zero, rest)


def _fmod(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    """The remainder whose sign is that of the dividend."""
    if dtype.kind == "f":
        return w.math("fmod", a, b)
    builder, zero, one = w.builder, _constant(a, 0), _constant(a, 1)
    unsafe = builder.icmp_unsigned("==", b, zero)
    if dtype.kind == "i":
        unsafe = builder.or_(unsafe, builder.icmp_signed("==", b, _constant(a, -1)))
    divisor = builder.select(unsafe, one, b)
    rest = (builder.srem if dtype.kind == "i" else builder.urem)(a, divisor)
    return builder.select(unsafe, zero, rest)


def _shift(direction: str) -> Emitter:
    """A shift; by the number of bits or more it leaves nothing but the sign."""

    def emit(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
        width = 8 * dtype.itemsize
        fits = w.builder.icmp_unsigned("<", b, _constant(b, width))
        if direction == "left":
            return w.builder.select(fits, w.builder.shl(a, w.builder.select(fits, b, _constant(b, 0))), _constant(a, 0))
        shift = w.builder.ashr if dtype.kind == "i" else w.builder.lshr
        shifted = shift(a, w.builder.select(fits, b, _constant(b, 0)))
        gone = shift(a, _constant(a, width - 1)) if dtype.kind == "i" else _constant(a, 0)
        return w.builder.select(fits, shifted, gone)

    return emit


def _isnan(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return w.builder.fcmp_unordered("uno", a, a) if dtype.kind == "f" else _none(w, a)


def _isinf(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind != "f":
        return _none(w, a)
    return w.builder.fcmp_ordered("==", w.intrinsic("fabs", a), _constant(a, float("inf")))


def _isfinite(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind != "f":
        return w.builder.not_(_none(w, a))
    return w.builder.fcmp_ordered("<", w.intrinsic("fabs", a), _constant(a, float("inf")))


def _signbit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    if dtype.kind == "f":
        integer: Any = ir.IntType(64 if dtype == np.float64 else 32)
        if isinstance(a.type, ir.VectorType):
            integer = ir.VectorType(integer, a.type.count)
        a = w.builder.bitcast(a, integer)
    return w.builder.icmp_signed("<", a, _constant(a, 0)) if dtype.kind in "fi" else _none(w, a)


def _none(w: Writer, a: ir.Value) -> ir.Value:
    return w.builder.icmp_unsigned("!=", a, a)


def _copysign(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    return w.intrinsic("copysign", a, b)


def _heaviside(w: Writer, dtype: np.dtype, a: ir.Value, at_zero: ir.Value) -> ir.Value:
    builder, zero = w.builder, _constant(a, 0)
    step = builder.select(builder.fcmp_ordered(">", a, zero), _constant(a, 1), zero)
    step = builder.select(builder.fcmp_ordered("==", a, zero), at_zero, step)
    return builder.select(builder.fcmp_unordered("uno", a, a), a, step)


def _logaddexp(w: Writer, dtype: np.dtype, a: ir.Value, b: ir.Value) -> ir.Value:
    builder = w.builder
    # Equal infinities have no difference.
    equal = builder.fcmp_ordered("==", a, b)
    difference = builder.select(equal, _constant(a, 0), builder.fsub(a, b))
    greater = builder.select(builder.fcmp_ordered(">", a, b), a, b)
    return builder.fadd(greater, w.math("log1p", w.math("exp", builder.fneg(w.intrinsic("fabs", difference)))))


def _expit(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    builder, one = w.builder, _constant(a, 1)
    small = w.math("exp", builder.fneg(w.intrinsic("fabs", a)))
    numerator = builder.select(builder.fcmp_ordered("<", a, _constant(a, 0)), small, one)
    return builder.fdiv(numerator, builder.fadd(one, small))


def _convert(w: Writer, dtype: np.dtype, a: ir.Value) -> ir.Value:
    return a  # operands are of the dtype already


def _where(w: Writer, dtype: np.dtype, condition: ir.Value, chosen: ir.Value, otherwise: ir.Value) -> ir.Value:
    return w.builder.select(condition, chosen, otherwise)


OPERATIONS: Mapping[str, Emitter] = {
    "add": _by_kind("fadd", "add", truth="or_"),
    "subtract": _by_kind("fsub", "sub"),
    "multiply": _by_kind("fmul", "mul", truth="and_"),
    "divide": _by_kind("fdiv", "sdiv"),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "power": _function("pow"),
    "maximum": _extreme(">", ignores_nan=False),
    "minimum": _extreme("<", ignores_nan=False),
    "fmax": _extreme(">", ignores_nan=True),
    "fmin": _extreme("<", ignores_nan=True),
    "negative": _by_kind("fneg", "neg"),
    "positive": _convert,
    "convert": _convert,
    "absolute": _absolute,
    "sign": _sign,
    "square": _square,
    "reciprocal": _reciprocal,
    "sqrt": _rounding("sqrt"),
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "trunc": _rounding("trunc"),
    "rint": _rounding("rint"),
    "bitwise_and": _by_kind("and_", "and_"),
    "bitwise_or": _by_kind("or_", "or_"),
    "bitwise_xor": _by_kind("xor", "xor"),
    "invert": _by_kind("not_", "not_"),
    "logical_and": _by_kind("and_", "and_"),
    "logical_or": _by_kind("or_", "or_"),
    "logical_xor": _by_kind("xor", "xor"),
    "logical_not": _by_kind("not_", "not_"),
    "left_shift": _shift("left"),
    "right_shift": _shift("right"),
    "equal": _compare("=="),
    "not_equal": _compare("!="),
    "less": _compare("<"),
    "less_equal": _compare("<="),
    "greater": _compare(">"),
    "greater_equal": _compare(">="),
    "isnan": _isnan,
    "isinf": _isinf,
    "isfinite": _isfinite,
    "signbit": _signbit,
    "copysign": _copysign,
    "heaviside": _heaviside,
    "logaddexp": _logaddexp,
    "expit": _expit,
    "where": _where,
    **{
        name: _function(name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan")
    },
    **{name: _function(name) for name in ("sinh", "cosh", "tanh", "cbrt", "hypot", "erf", "erfc")},
    **{f"arc{name}": _function(f"a{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
}
