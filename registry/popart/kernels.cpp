#include "kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "half.h"

namespace popart_cpu {
namespace {

using poplar::Type;
using popops::expr::BinaryOpType;
using popops::expr::TernaryOpType;
using popops::expr::UnaryOpType;

template <typename T>
constexpr bool kIsFloat = std::is_floating_point<T>::value;

// True or false, which is no number of 8 bits.
enum Truth : uint8_t {};

// Whole numbers go round, which C++ does not promise of signed ones.
template <typename T>
T Wrap(uint64_t value) {
  return static_cast<T>(value);
}

// A function of floating point numbers, and one of any numbers with what it is of whole ones.
#define POPART_CPU_FLOAT1(Name, value) \
  struct Name {                        \
    float operator()(float a) const { return value; } \
  };
#define POPART_CPU_FLOAT2(Name, value) \
  struct Name {                        \
    float operator()(float a, float b) const { return value; } \
  };
#define POPART_CPU_NUMBER1(Name, of_floats, of_whole) \
  struct Name {                                       \
    template <typename T>                             \
    T operator()(T a) const {                         \
      if constexpr (kIsFloat<T>) return of_floats;    \
      else return of_whole;                           \
    }                                                 \
  };
#define POPART_CPU_NUMBER2(Name, of_floats, of_whole) \
  struct Name {                                       \
    template <typename T>                             \
    T operator()(T a, T b) const {                    \
      if constexpr (kIsFloat<T>) return of_floats;    \
      else return of_whole;                           \
    }                                                 \
  };
#define POPART_CPU_WHOLE1(Name, value) \
  struct Name {                        \
    template <typename T>              \
    T operator()(T a) const {          \
      using U = std::make_unsigned_t<T>; \
      return static_cast<T>(value);    \
    }                                  \
  };
#define POPART_CPU_WHOLE2(Name, value)   \
  struct Name {                          \
    template <typename T>                \
    T operator()(T a, T b) const {       \
      using U [[maybe_unused]] = std::make_unsigned_t<T>; \
      return static_cast<T>(value);      \
    }                                    \
  };
#define POPART_CPU_COMPARISON(Name, symbol) \
  struct Name {                             \
    template <typename T>                   \
    Truth operator()(T a, T b) const {      \
      return Truth(a symbol b);             \
    }                                       \
  };
#define POPART_CPU_TEST(Name, value) \
  struct Name {                      \
    Truth operator()(float a) const { return Truth(value); } \
  };

POPART_CPU_NUMBER1(Absolute, std::fabs(a), a < T(0) ? Wrap<T>(-uint64_t(a)) : a)
POPART_CPU_NUMBER1(Negate, -a, Wrap<T>(-uint64_t(a)))
POPART_CPU_NUMBER1(Relu, a > T(0) ? a : T(0), a > T(0) ? a : T(0))
POPART_CPU_NUMBER1(Signum, a > 0 ? 1 : a < 0 ? -1 : a, T((a > T(0)) - (a < T(0))))
POPART_CPU_NUMBER1(Sqrt, std::sqrt(a), a > T(0) ? T(std::sqrt(a)) : T(0))
POPART_CPU_NUMBER1(Square, a * a, Wrap<T>(uint64_t(a) * uint64_t(a)))
POPART_CPU_WHOLE1(BitwiseNot, ~U(a))
// The builtin is for 64 bits, and not for 0.
POPART_CPU_WHOLE1(CountLeadingZeros,
                  U(a) == 0 ? sizeof(T) * 8 : __builtin_clzll(U(a)) - (sizeof(uint64_t) - sizeof(T)) * 8)
POPART_CPU_WHOLE1(Popcount, __builtin_popcountll(U(a)))
POPART_CPU_FLOAT1(Asin, std::asin(a))
POPART_CPU_FLOAT1(Cbrt, std::cbrt(a))
POPART_CPU_FLOAT1(Ceil, std::ceil(a))
POPART_CPU_FLOAT1(Cos, std::cos(a))
POPART_CPU_FLOAT1(Erf, std::erf(a))
POPART_CPU_FLOAT1(Exp, std::exp(a))
POPART_CPU_FLOAT1(Exp2, std::exp2(a))
POPART_CPU_FLOAT1(Expm1, std::expm1(a))
POPART_CPU_FLOAT1(Floor, std::floor(a))
POPART_CPU_FLOAT1(GeluErf, 0.5f * a * (1.0f + std::erf(a * 0.70710678f)))
POPART_CPU_FLOAT1(Inverse, 1.0f / a)
POPART_CPU_FLOAT1(Log, std::log(a))
POPART_CPU_FLOAT1(Log1p, std::log1p(a))
POPART_CPU_FLOAT1(NearbyInt, std::nearbyint(a))
POPART_CPU_FLOAT1(Round, std::round(a))
POPART_CPU_FLOAT1(Rsqrt, 1.0f / std::sqrt(a))
POPART_CPU_FLOAT1(Sigmoid, 1.0f / (1.0f + std::exp(-a)))
POPART_CPU_FLOAT1(Sin, std::sin(a))
POPART_CPU_FLOAT1(Tan, std::tan(a))
POPART_CPU_FLOAT1(Tanh, std::tanh(a))
POPART_CPU_FLOAT1(Trunc, std::trunc(a))
// By their bits, which no compiler option changes.
POPART_CPU_TEST(IsFinite, (BitsOf(a) & 0x7fffffffu) < 0x7f800000u)
POPART_CPU_TEST(IsInf, (BitsOf(a) & 0x7fffffffu) == 0x7f800000u)
POPART_CPU_TEST(IsNan, (BitsOf(a) & 0x7fffffffu) > 0x7f800000u)

// To divide by 0 would end the process, and so would the quotient that does not fit: that of the least number and -1.
template <typename T>
T Quotient(T a, T b) {
  if (b == T(0)) return T(0);
  return std::is_signed<T>::value && b == T(-1) ? Wrap<T>(-uint64_t(a)) : T(a / b);
}

template <typename T>
T Rest(T a, T b) {
  return b == T(0) || (std::is_signed<T>::value && b == T(-1)) ? T(0) : T(a % b);
}

// A shift by the width of the number or more leaves nothing of it.
template <typename T>
bool Fits(T shift) {
  return std::make_unsigned_t<T>(shift) < sizeof(T) * 8;
}

POPART_CPU_NUMBER2(Add, a + b, Wrap<T>(uint64_t(a) + uint64_t(b)))
POPART_CPU_NUMBER2(Subtract, a - b, Wrap<T>(uint64_t(a) - uint64_t(b)))
POPART_CPU_NUMBER2(Multiply, a * b, Wrap<T>(uint64_t(a) * uint64_t(b)))
POPART_CPU_NUMBER2(Divide, a / b, Quotient(a, b))
POPART_CPU_NUMBER2(Remainder, std::fmod(a, b), Rest(a, b))
// Of a number and NaN, the number.
POPART_CPU_NUMBER2(Maximum, a > b || b != b ? a : b, a > b ? a : b)
POPART_CPU_NUMBER2(Minimum, a < b || b != b ? a : b, a < b ? a : b)
POPART_CPU_FLOAT2(Power, std::pow(a, b))
POPART_CPU_FLOAT2(Atan2, std::atan2(a, b))
POPART_CPU_FLOAT2(InvStdDevToVariance, 1.0f / (a * a) - b)
POPART_CPU_FLOAT2(VarianceToInvStdDev, 1.0f / std::sqrt(a + b))
POPART_CPU_WHOLE2(BitwiseAnd, a & b)
POPART_CPU_WHOLE2(BitwiseOr, a | b)
POPART_CPU_WHOLE2(BitwiseXor, a ^ b)
POPART_CPU_WHOLE2(BitwiseXnor, ~(U(a) ^ U(b)))
POPART_CPU_WHOLE2(ShiftLeft, Fits(b) ? uint64_t(a) << b : 0)
POPART_CPU_WHOLE2(ShiftRight, Fits(b) ? U(a) >> b : 0)
POPART_CPU_WHOLE2(ShiftRightSignExtend, Fits(b) ? a >> b : a < T(0) ? -1 : 0)
POPART_CPU_COMPARISON(Equal, ==)
POPART_CPU_COMPARISON(NotEqual, !=)
POPART_CPU_COMPARISON(Greater, >)
POPART_CPU_COMPARISON(GreaterEqual, >=)
POPART_CPU_COMPARISON(Less, <)
POPART_CPU_COMPARISON(LessEqual, <=)

struct LogicalNot {
  Truth operator()(Truth a) const { return Truth(a == 0); }
};

struct LogicalAnd {
  Truth operator()(Truth a, Truth b) const { return Truth(a != 0 && b != 0); }
};

struct LogicalOr {
  Truth operator()(Truth a, Truth b) const { return Truth(a != 0 || b != 0); }
};

template <typename T, typename F>
void Loop1(void* out, const void* a, const void*, const void*, std::size_t n) {
  using R = decltype(F()(T()));
  auto* __restrict to = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i]);
}

template <typename T, typename F>
void Loop2(void* out, const void* a, const void* b, const void*, std::size_t n) {
  using R = decltype(F()(T(), T()));
  auto* __restrict to = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i], y[i]);
}

template <typename T>
void LoopSelect(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  const auto* which = static_cast<const Truth*>(c);
  for (std::size_t i = 0; i < n; ++i) {
    const T left = x[i], right = y[i];
    to[i] = which[i] ? left : right;
  }
}

template <typename T>
void LoopClamp(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* low = static_cast<const T*>(b);
  const auto* high = static_cast<const T*>(c);
  for (std::size_t i = 0; i < n; ++i) {
    const T raised = x[i] < low[i] ? low[i] : x[i];
    to[i] = raised > high[i] ? high[i] : raised;
  }
}

template <typename To, typename From>
To Converted(From value) {
  if constexpr (std::is_same<To, Truth>::value) {
    return Truth(value != From(0));
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    // What does not fit becomes the number nearest to it.
    constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto high = static_cast<From>(std::numeric_limits<To>::max());
    if (!(value > low)) return value == value ? std::numeric_limits<To>::min() : To(0);
    return value < high ? static_cast<To>(value) : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(value);
  }
}

template <typename From, typename To>
void LoopCast(void* out, const void* a, const void*, const void*, std::size_t n) {
  auto* __restrict to = static_cast<To*>(out);
  const auto* x = static_cast<const From*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = Converted<To>(x[i]);
}

void LoopRound(void* out, const void* a, const void*, const void*, std::size_t n) {
  auto* __restrict to = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = HalfToFloat(FloatToHalf(x[i]));
}

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
