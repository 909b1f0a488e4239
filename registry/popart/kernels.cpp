#include "kernels.h"

#include <cstdint>

#include "loops.h"

namespace popart_cpu {
namespace {

using poplar::Type;
using popops::expr::BinaryOpType;
using popops::expr::TernaryOpType;
using popops::expr::UnaryOpType;

// Calls `use` with a value of the type of C++ that has the elements of `type` in blocks.
template <typename Use>
Kernel ForInteger(Type type, Use use) {
  switch (type.kind()) {
    case Type::Kind::Char:
    case Type::Kind::SignedChar: return use(int8_t());
    case Type::Kind::UnsignedChar: return use(uint8_t());
    case Type::Kind::Short: return use(int16_t());
    case Type::Kind::UnsignedShort: return use(uint16_t());
    case Type::Kind::Int: return use(int32_t());
    case Type::Kind::UnsignedInt: return use(uint32_t());
    case Type::Kind::LongLong: return use(int64_t());
    case Type::Kind::UnsignedLongLong: return use(uint64_t());
    default: return nullptr;
  }
}

bool IsFloat(Type type) { return type == poplar::FLOAT || type == poplar::HALF; }

template <typename Use>
Kernel ForNumber(Type type, Use use) {
  return IsFloat(type) ? use(float()) : ForInteger(type, use);
}

template <typename Use>
Kernel ForAny(Type type, Use use) {
  return type == poplar::BOOL ? use(Truth()) : ForNumber(type, use);
}

template <typename F>
Kernel Float1(Type type) { return IsFloat(type) ? &Loop1<float, F> : nullptr; }
template <typename F>
Kernel Float2(Type type) { return IsFloat(type) ? &Loop2<float, F> : nullptr; }
template <typename F>
Kernel Integer1(Type type) { return ForInteger(type, [](auto t) -> Kernel { return &Loop1<decltype(t), F>; }); }
template <typename F>
Kernel Integer2(Type type) { return ForInteger(type, [](auto t) -> Kernel { return &Loop2<decltype(t), F>; }); }
template <typename F>
Kernel Number1(Type type) { return ForNumber(type, [](auto t) -> Kernel { return &Loop1<decltype(t), F>; }); }
template <typename F>
Kernel Number2(Type type) { return ForNumber(type, [](auto t) -> Kernel { return &Loop2<decltype(t), F>; }); }
template <typename F>
Kernel Any2(Type type) { return ForAny(type, [](auto t) -> Kernel { return &Loop2<decltype(t), F>; }); }
template <typename F>
Kernel Truth2(Type type) { return type == poplar::BOOL ? &Loop2<Truth, F> : nullptr; }
// Of truths, a bit is what counts.
template <typename F, typename OfTruths>
Kernel Bits2(Type type) { return type == poplar::BOOL ? &Loop2<Truth, OfTruths> : Integer2<F>(type); }

struct Entry {
  const char* name;
  Kernel (*find)(Type type);
};

Kernel TruthNot(Type type) { return type == poplar::BOOL ? &Loop1<Truth, LogicalNot> : nullptr; }

Entry Find(UnaryOpType op) {
#define POPART_CPU_CASE(OP, ...) case UnaryOpType::OP: return {#OP, &__VA_ARGS__};
  switch (op) {
    POPART_CPU_CASE(ABSOLUTE, Number1<Absolute>)
    POPART_CPU_CASE(ASIN, Float1<Asin>)
    POPART_CPU_CASE(BITWISE_NOT, Integer1<BitwiseNot>)
    POPART_CPU_CASE(CBRT, Float1<Cbrt>)
    POPART_CPU_CASE(CEIL, Float1<Ceil>)
    POPART_CPU_CASE(COS, Float1<Cos>)
    POPART_CPU_CASE(COUNT_LEADING_ZEROS, Integer1<CountLeadingZeros>)
    POPART_CPU_CASE(ERF, Float1<Erf>)
    POPART_CPU_CASE(EXPONENT, Float1<Exp>)
    POPART_CPU_CASE(EXPONENT_MINUS_ONE, Float1<Expm1>)
    POPART_CPU_CASE(EXPONENT2, Float1<Exp2>)
    POPART_CPU_CASE(FLOOR, Float1<Floor>)
    POPART_CPU_CASE(GELU_ERF, Float1<GeluErf>)
    POPART_CPU_CASE(INVERSE, Float1<Inverse>)
    POPART_CPU_CASE(IS_FINITE, Float1<IsFinite>)
    POPART_CPU_CASE(IS_INF, Float1<IsInf>)
    POPART_CPU_CASE(IS_NAN, Float1<IsNan>)
    POPART_CPU_CASE(LOGARITHM, Float1<Log>)
    POPART_CPU_CASE(LOGARITHM_ONE_PLUS, Float1<Log1p>)
    POPART_CPU_CASE(LOGICAL_NOT, TruthNot)
    POPART_CPU_CASE(NEGATE, Number1<Negate>)
    POPART_CPU_CASE(NEARBY_INT, Float1<NearbyInt>)
    POPART_CPU_CASE(POPCOUNT, Integer1<Popcount>)
    POPART_CPU_CASE(RELU, Number1<Relu>)
    POPART_CPU_CASE(ROUND, Float1<Round>)
    POPART_CPU_CASE(RSQRT, Float1<Rsqrt>)
    POPART_CPU_CASE(SIGMOID, Float1<Sigmoid>)
    POPART_CPU_CASE(SIGNUM, Number1<Signum>)
    POPART_CPU_CASE(SIN, Float1<Sin>)
    POPART_CPU_CASE(SQRT, Number1<Sqrt>)
    POPART_CPU_CASE(SQUARE, Number1<Square>)
    POPART_CPU_CASE(TAN, Float1<Tan>)
    POPART_CPU_CASE(TANH, Float1<Tanh>)
    POPART_CPU_CASE(TRUNC, Float1<Trunc>)
  }
#undef POPART_CPU_CASE
  return {"an unknown operator", [](Type) -> Kernel { return nullptr; }};
}

Entry Find(BinaryOpType op) {
#define POPART_CPU_CASE(OP, ...) case BinaryOpType::OP: return {#OP, &__VA_ARGS__};
  switch (op) {
    POPART_CPU_CASE(ADD, Number2<Add>)
    POPART_CPU_CASE(ATAN2, Float2<Atan2>)
    POPART_CPU_CASE(BITWISE_AND, Bits2<BitwiseAnd, LogicalAnd>)
    POPART_CPU_CASE(BITWISE_OR, Bits2<BitwiseOr, LogicalOr>)
    POPART_CPU_CASE(BITWISE_XNOR, Bits2<BitwiseXnor, Equal>)
    POPART_CPU_CASE(BITWISE_XOR, Bits2<BitwiseXor, NotEqual>)
    POPART_CPU_CASE(DIVIDE, Number2<Divide>)
    POPART_CPU_CASE(EQUAL, Any2<Equal>)
    POPART_CPU_CASE(GREATER_THAN, Any2<Greater>)
    POPART_CPU_CASE(GREATER_THAN_EQUAL, Any2<GreaterEqual>)
    POPART_CPU_CASE(INV_STD_DEV_TO_VARIANCE, Float2<InvStdDevToVariance>)
    POPART_CPU_CASE(LESS_THAN, Any2<Less>)
    POPART_CPU_CASE(LESS_THAN_EQUAL, Any2<LessEqual>)
    POPART_CPU_CASE(LOGICAL_AND, Truth2<LogicalAnd>)
    POPART_CPU_CASE(LOGICAL_OR, Truth2<LogicalOr>)
    POPART_CPU_CASE(MAXIMUM, Number2<Maximum>)
    POPART_CPU_CASE(MINIMUM, Number2<Minimum>)
    POPART_CPU_CASE(MULTIPLY, Number2<Multiply>)
    POPART_CPU_CASE(NOT_EQUAL, Any2<NotEqual>)
    POPART_CPU_CASE(POWER, Float2<Power>)
    POPART_CPU_CASE(REMAINDER, Number2<Remainder>)
    POPART_CPU_CASE(SHIFT_LEFT, Integer2<ShiftLeft>)
    POPART_CPU_CASE(SHIFT_RIGHT, Integer2<ShiftRight>)
    POPART_CPU_CASE(SHIFT_RIGHT_SIGN_EXTEND, Integer2<ShiftRightSignExtend>)
    POPART_CPU_CASE(SUBTRACT, Number2<Subtract>)
    POPART_CPU_CASE(VARIANCE_TO_INV_STD_DEV, Float2<VarianceToInvStdDev>)
  }
#undef POPART_CPU_CASE
  return {"an unknown operator", [](Type) -> Kernel { return nullptr; }};
}

}  // namespace

Kernel FindKernel(UnaryOpType op, Type operand) { return Find(op).find(operand); }

Kernel FindKernel(BinaryOpType op, Type operand) { return Find(op).find(operand); }

Kernel FindKernel(TernaryOpType op, Type operand) {
  if (op == TernaryOpType::CLAMP) return ForNumber(operand, [](auto t) -> Kernel { return &LoopClamp<decltype(t)>; });
  return ForAny(operand, [](auto t) -> Kernel { return &LoopSelect<decltype(t)>; });
}

Kernel FindCast(Type from, Type to) {
  if (to == poplar::HALF && IsFloat(from)) return &LoopRound;
  return ForAny(from, [&](auto f) {
    return ForAny(to, [](auto t) -> Kernel { return &LoopCast<decltype(f), decltype(t)>; });
  });
}

const char* NameOf(UnaryOpType op) { return Find(op).name; }
const char* NameOf(BinaryOpType op) { return Find(op).name; }
const char* NameOf(TernaryOpType op) { return op == TernaryOpType::CLAMP ? "CLAMP" : "SELECT"; }

std::size_t SizeInBlock(Type type) { return type == poplar::HALF ? sizeof(float) : type.size(); }

}  // namespace popart_cpu
