// The types of elements in blocks, and the functions that operators compute for each element.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <poplar/Type.hpp>

#include "../host/half.h"

namespace popart_cpu {

using pykernels::BitsOf;
using pykernels::FloatToHalf;
using pykernels::HalfToFloat;

template <typename T>
constexpr bool kIsFloat = std::is_floating_point<T>::value;

// A boolean, a type of its own that is distinct from 8-bit numbers.
enum Truth : uint8_t {};

// Wraps integers around; C++ leaves signed overflow undefined.
template <typename T>
T Wrap(uint64_t value) {
  return static_cast<T>(value);
}

// The types that a function takes.
template <bool floats, bool integers, bool truths>
struct Takes {
  static constexpr bool kFloats = floats, kIntegers = integers, kTruths = truths;
};
using TakesFloats = Takes<true, false, false>;
using TakesNumbers = Takes<true, true, false>;
using TakesIntegers = Takes<false, true, false>;
using TakesTruths = Takes<false, false, true>;
using TakesAll = Takes<true, true, true>;

// One of the types that a function takes.
template <typename F>
using Example = std::conditional_t<F::kFloats, float, std::conditional_t<F::kIntegers, int32_t, Truth>>;

// Calls `use` with a value of the C++ type that holds elements of `type` in blocks. Does nothing if `F` does not take
// them.
template <typename F, typename Use>
auto ForType(poplar::Type type, const Use& use) {
  using Kind = poplar::Type::Kind;
  if constexpr (F::kIntegers) {
    switch (type.kind()) {
      case Kind::Char:
      case Kind::SignedChar: return use(int8_t());
      case Kind::UnsignedChar: return use(uint8_t());
      case Kind::Short: return use(int16_t());
      case Kind::UnsignedShort: return use(uint16_t());
      case Kind::Int: return use(int32_t());
      case Kind::UnsignedInt: return use(uint32_t());
      case Kind::LongLong: return use(int64_t());
      case Kind::UnsignedLongLong: return use(uint64_t());
      default: break;
    }
  }
  if constexpr (F::kFloats) {
    if (type == poplar::FLOAT || type == poplar::HALF) return use(float());
  }
  if constexpr (F::kTruths) {
    if (type == poplar::BOOL) return use(Truth());
  }
  return decltype(use(Example<F>()))();
}

// Returns a constant as an element of a block. Negative numbers wrap around in unsigned types.
template <typename T>
T ConstantAs(long double value) {
  if constexpr (std::is_same<T, Truth>::value) return Truth(value != 0);
  else if constexpr (kIsFloat<T>) return static_cast<T>(value);
  else return value < 0 ? static_cast<T>(static_cast<int64_t>(value)) : static_cast<T>(static_cast<uint64_t>(value));
}

// Define functions of floats, of numbers (with one expression for floats and one for integers), of integers (U is the
// unsigned type), of integers and booleans, comparisons and tests.
#define POPART_CPU_FLOAT(Name, parameters, value)          \
  struct Name : TakesFloats {                              \
    float operator() parameters const { return value; }    \
  };
#define POPART_CPU_NUMBER(Name, parameters, of_floats, of_integers) \
  struct Name : TakesNumbers {                                      \
    template <typename T>                                           \
    T operator() parameters const {                                 \
      if constexpr (kIsFloat<T>) return of_floats;                  \
      else return of_integers;                                      \
    }                                                               \
  };
#define POPART_CPU_INTEGER(Name, parameters, value)       \
  struct Name : TakesIntegers {                           \
    template <typename T>                                 \
    T operator() parameters const {                       \
      using U [[maybe_unused]] = std::make_unsigned_t<T>; \
      return static_cast<T>(value);                       \
    }                                                     \
  };
#define POPART_CPU_BITS(Name, of_integers, of_truths)                       \
  struct Name : Takes<false, true, true> {                                  \
    template <typename T>                                                   \
    T operator()(T a, T b) const {                                          \
      if constexpr (std::is_same<T, Truth>::value) return Truth(of_truths); \
      else return static_cast<T>(of_integers);                              \
    }                                                                       \
  };
#define POPART_CPU_COMPARISON(Name, symbol) \
  struct Name : TakesAll {                  \
    template <typename T>                   \
    Truth operator()(T a, T b) const {      \
      return Truth(a symbol b);             \
    }                                       \
  };
#define POPART_CPU_TEST(Name, value)                         \
  struct Name : TakesFloats {                                \
    Truth operator()(float a) const { return Truth(value); } \
  };

// The functions have the names of the classes of expressions.
namespace functions {

POPART_CPU_NUMBER(Abs, (T a), std::fabs(a), a < T(0) ? Wrap<T>(-uint64_t(a)) : a)
POPART_CPU_NUMBER(Neg, (T a), -a, Wrap<T>(-uint64_t(a)))
POPART_CPU_NUMBER(Relu, (T a), a > T(0) ? a : T(0), a > T(0) ? a : T(0))
POPART_CPU_NUMBER(Signum, (T a), a > 0 ? 1 : a < 0 ? -1 : a, T((a > T(0)) - (a < T(0))))
POPART_CPU_NUMBER(Sqrt, (T a), std::sqrt(a), a > T(0) ? T(std::sqrt(a)) : T(0))
POPART_CPU_NUMBER(Square, (T a), a * a, Wrap<T>(uint64_t(a) * uint64_t(a)))
POPART_CPU_INTEGER(BitwiseNot, (T a), ~U(a))
// The builtin takes 64 bits and is undefined for 0.
POPART_CPU_INTEGER(CountLeadingZeros, (T a),
                   U(a) == 0 ? sizeof(T) * 8 : __builtin_clzll(U(a)) - (sizeof(uint64_t) - sizeof(T)) * 8)
POPART_CPU_INTEGER(Popcount, (T a), __builtin_popcountll(U(a)))
POPART_CPU_FLOAT(Asin, (float a), std::asin(a))
POPART_CPU_FLOAT(Cbrt, (float a), std::cbrt(a))
POPART_CPU_FLOAT(Ceil, (float a), std::ceil(a))
POPART_CPU_FLOAT(Cos, (float a), std::cos(a))
POPART_CPU_FLOAT(Erf, (float a), std::erf(a))
POPART_CPU_FLOAT(Exp, (float a), std::exp(a))
POPART_CPU_FLOAT(Exp2, (float a), std::exp2(a))
POPART_CPU_FLOAT(Expm1, (float a), std::expm1(a))
POPART_CPU_FLOAT(Floor, (float a), std::floor(a))
POPART_CPU_FLOAT(GeluErf, (float a), 0.5f * a * (1.0f + std::erf(a * 0.70710678f)))
POPART_CPU_FLOAT(Inv, (float a), 1.0f / a)
POPART_CPU_FLOAT(Log, (float a), std::log(a))
POPART_CPU_FLOAT(Log1p, (float a), std::log1p(a))
POPART_CPU_FLOAT(NearbyInt, (float a), std::nearbyint(a))
POPART_CPU_FLOAT(Round, (float a), std::round(a))
POPART_CPU_FLOAT(Rsqrt, (float a), 1.0f / std::sqrt(a))
POPART_CPU_FLOAT(Sigmoid, (float a), 1.0f / (1.0f + std::exp(-a)))
POPART_CPU_FLOAT(Sin, (float a), std::sin(a))
POPART_CPU_FLOAT(Tan, (float a), std::tan(a))
POPART_CPU_FLOAT(Tanh, (float a), std::tanh(a))
POPART_CPU_FLOAT(Trunc, (float a), std::trunc(a))
// Test the bits: compiler options such as -ffast-math do not affect them.
POPART_CPU_TEST(IsFinite, (BitsOf(a) & 0x7fffffffu) < 0x7f800000u)
POPART_CPU_TEST(IsInf, (BitsOf(a) & 0x7fffffffu) == 0x7f800000u)
POPART_CPU_TEST(IsNaN, (BitsOf(a) & 0x7fffffffu) > 0x7f800000u)

// Division by 0, and of the least number by -1, whose quotient overflows, would end the process.
template <typename T>
T Quotient(T a, T b) {
  if (b == T(0)) return T(0);
  return std::is_signed<T>::value && b == T(-1) ? Wrap<T>(-uint64_t(a)) : T(a / b);
}

template <typename T>
T Rest(T a, T b) {
  return b == T(0) || (std::is_signed<T>::value && b == T(-1)) ? T(0) : T(a % b);
}

// Returns whether a shift leaves any bits: it is less than the width of the number.
template <typename T>
bool Fits(T shift) {
  return std::make_unsigned_t<T>(shift) < sizeof(T) * 8;
}

POPART_CPU_NUMBER(Add, (T a, T b), a + b, Wrap<T>(uint64_t(a) + uint64_t(b)))
POPART_CPU_NUMBER(Sub, (T a, T b), a - b, Wrap<T>(uint64_t(a) - uint64_t(b)))
POPART_CPU_NUMBER(Mul, (T a, T b), a * b, Wrap<T>(uint64_t(a) * uint64_t(b)))
POPART_CPU_NUMBER(Divide, (T a, T b), a / b, Quotient(a, b))
POPART_CPU_NUMBER(Rem, (T a, T b), std::fmod(a, b), Rest(a, b))
// The maximum or minimum of a number and NaN is the number.
POPART_CPU_NUMBER(Max, (T a, T b), a > b || b != b ? a : b, a > b ? a : b)
POPART_CPU_NUMBER(Min, (T a, T b), a < b || b != b ? a : b, a < b ? a : b)
POPART_CPU_FLOAT(Pow, (float a, float b), std::pow(a, b))
POPART_CPU_FLOAT(Atan2, (float a, float b), std::atan2(a, b))
POPART_CPU_FLOAT(InvStdDevToVariance, (float a, float b), 1.0f / (a * a) - b)
POPART_CPU_FLOAT(VarianceToInvStdDev, (float a, float b), 1.0f / std::sqrt(a + b))
POPART_CPU_BITS(BitwiseAnd, a & b, a && b)
POPART_CPU_BITS(BitwiseOr, a | b, a || b)
POPART_CPU_BITS(BitwiseXor, a ^ b, a != b)
POPART_CPU_BITS(BitwiseXnor, ~(a ^ b), a == b)
POPART_CPU_INTEGER(Shl, (T a, T b), Fits(b) ? uint64_t(a) << b : 0)
POPART_CPU_INTEGER(Shr, (T a, T b), Fits(b) ? U(a) >> b : 0)
POPART_CPU_INTEGER(ShrSE, (T a, T b), Fits(b) ? a >> b : a < T(0) ? -1 : 0)
POPART_CPU_COMPARISON(Equal, ==)
POPART_CPU_COMPARISON(NotEqual, !=)
POPART_CPU_COMPARISON(Gt, >)
POPART_CPU_COMPARISON(Gte, >=)
POPART_CPU_COMPARISON(Lt, <)
POPART_CPU_COMPARISON(Lte, <=)

struct Not : TakesTruths {
  Truth operator()(Truth a) const { return Truth(!a); }
};

struct And : TakesTruths {
  Truth operator()(Truth a, Truth b) const { return Truth(a && b); }
};

struct Or : TakesTruths {
  Truth operator()(Truth a, Truth b) const { return Truth(a || b); }
};

struct Select : TakesAll {
  template <typename T>
  T operator()(T a, T b, Truth which) const {
    return which ? a : b;
  }
};

struct Clamp : TakesNumbers {
  template <typename T>
  T operator()(T a, T low, T high) const {
    const T raised = a < low ? low : a;
    return raised > high ? high : raised;
  }
};

template <typename To>
struct Cast : TakesAll {
  template <typename From>
  To operator()(From value) const {
    if constexpr (std::is_same<To, Truth>::value) {
      return Truth(value != From(0));
    } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
      // Values out of range become the nearest representable number.
      constexpr auto low = static_cast<From>(std::numeric_limits<To>::min());
      constexpr auto high = static_cast<From>(std::numeric_limits<To>::max());
      if (!(value > low)) return value == value ? std::numeric_limits<To>::min() : To(0);
      return value < high ? static_cast<To>(value) : std::numeric_limits<To>::max();
    } else {
      return static_cast<To>(value);
    }
  }
};

struct RoundToHalf : TakesFloats {
  float operator()(float a) const { return HalfToFloat(FloatToHalf(a)); }
};

}  // namespace functions
}  // namespace popart_cpu
