// The operators of expressions, each with its enumerator, the class of its expressions and its function of tensors.
#pragma once

#define POPART_CPU_UNARY_OPERATORS(X)                                   \
  X(ABSOLUTE, Abs, abs)                                                 \
  X(ASIN, Asin, asin)                                                   \
  X(BITWISE_NOT, BitwiseNot, bitwiseNot)                                \
  X(CBRT, Cbrt, cbrt)                                                   \
  X(CEIL, Ceil, ceil)                                                   \
  X(COS, Cos, cos)                                                      \
  X(COUNT_LEADING_ZEROS, CountLeadingZeros, countLeadingZeros)          \
  X(ERF, Erf, erf)                                                      \
  X(EXPONENT, Exp, exp)                                                 \
  X(EXPONENT_MINUS_ONE, Expm1, expm1)                                   \
  X(EXPONENT2, Exp2, exp2)                                              \
  X(FLOOR, Floor, floor)                                                \
  X(GELU_ERF, GeluErf, geluErf)                                         \
  X(INVERSE, Inv, inv)                                                  \
  X(IS_FINITE, IsFinite, isFinite)                                      \
  X(IS_INF, IsInf, isInf)                                               \
  X(IS_NAN, IsNaN, isNaN)                                               \
  X(LOGARITHM, Log, log)                                                \
  X(LOGARITHM_ONE_PLUS, Log1p, log1p)                                   \
  X(LOGICAL_NOT, Not, logicalNot)                                       \
  X(NEGATE, Neg, neg)                                                   \
  X(NEARBY_INT, NearbyInt, nearbyint)                                   \
  X(POPCOUNT, Popcount, popcount)                                       \
  X(RELU, Relu, relu)                                                   \
  X(ROUND, Round, round)                                                \
  X(RSQRT, Rsqrt, rsqrt)                                                \
  X(SIGMOID, Sigmoid, sigmoid)                                          \
  X(SIGNUM, Signum, signum)                                             \
  X(SIN, Sin, sin)                                                      \
  X(SQRT, Sqrt, sqrt)                                                   \
  X(SQUARE, Square, square)                                             \
  X(TAN, Tan, tan)                                                      \
  X(TANH, Tanh, tanh)                                                   \
  X(TRUNC, Trunc, trunc)

#define POPART_CPU_BINARY_OPERATORS(X)                                  \
  X(ADD, Add, add)                                                      \
  X(ATAN2, Atan2, atan2)                                                \
  X(BITWISE_AND, BitwiseAnd, bitwiseAnd)                                \
  X(BITWISE_OR, BitwiseOr, bitwiseOr)                                   \
  X(BITWISE_XNOR, BitwiseXnor, bitwiseXnor)                             \
  X(BITWISE_XOR, BitwiseXor, bitwiseXor)                                \
  X(DIVIDE, Divide, div)                                                \
  X(EQUAL, Equal, eq)                                                   \
  X(GREATER_THAN, Gt, gt)                                               \
  X(GREATER_THAN_EQUAL, Gte, gteq)                                      \
  X(INV_STD_DEV_TO_VARIANCE, InvStdDevToVariance, invStdDevToVariance)  \
  X(LESS_THAN, Lt, lt)                                                  \
  X(LESS_THAN_EQUAL, Lte, lteq)                                         \
  X(LOGICAL_AND, And, logicalAnd)                                       \
  X(LOGICAL_OR, Or, logicalOr)                                          \
  X(MAXIMUM, Max, max)                                                  \
  X(MINIMUM, Min, min)                                                  \
  X(MULTIPLY, Mul, mul)                                                 \
  X(NOT_EQUAL, NotEqual, neq)                                           \
  X(POWER, Pow, pow)                                                    \
  X(REMAINDER, Rem, rem)                                                \
  X(SHIFT_LEFT, Shl, shiftLeft)                                         \
  X(SHIFT_RIGHT, Shr, shiftRight)                                       \
  X(SHIFT_RIGHT_SIGN_EXTEND, ShrSE, shiftRightSignExtend)               \
  X(SUBTRACT, Sub, sub)                                                 \
  X(VARIANCE_TO_INV_STD_DEV, VarianceToInvStdDev, varianceToInvStdDev)

#define POPART_CPU_TERNARY_OPERATORS(X)                                 \
  X(CLAMP, Clamp, clamp)                                                \
  X(SELECT, Select, select)

#define POPART_CPU_ENUMERATOR(OP, Class, function) OP,

namespace popops {
namespace expr {

enum class UnaryOpType { POPART_CPU_UNARY_OPERATORS(POPART_CPU_ENUMERATOR) };
enum class BinaryOpType { POPART_CPU_BINARY_OPERATORS(POPART_CPU_ENUMERATOR) };
enum class TernaryOpType { POPART_CPU_TERNARY_OPERATORS(POPART_CPU_ENUMERATOR) };

}  // namespace expr
}  // namespace popops

#undef POPART_CPU_ENUMERATOR
