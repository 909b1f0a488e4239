// What operators compute of each element.
#ifndef PYKERNELS_REGISTRY_POPART_FUNCTIONS_H_
#define PYKERNELS_REGISTRY_POPART_FUNCTIONS_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "half.h"

namespace popart_cpu {

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

#undef POPART_CPU_FLOAT1
#undef POPART_CPU_FLOAT2
#undef POPART_CPU_NUMBER1
#undef POPART_CPU_NUMBER2
#undef POPART_CPU_WHOLE1
#undef POPART_CPU_WHOLE2
#undef POPART_CPU_COMPARISON
#undef POPART_CPU_TEST

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_FUNCTIONS_H_
