// Expressions with the elements of tensors: _1 stands for those of the first tensor, and so on.
#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace popart_cpu {
struct Term;
}

namespace popops {
namespace expr {

// What all expressions are: a handle of a tree that never changes.
class Expr {
 public:
  explicit Expr(std::shared_ptr<const popart_cpu::Term> term) : term_(std::move(term)) {}
  virtual ~Expr() {}

  std::unique_ptr<Expr> clone() const { return std::unique_ptr<Expr>(new Expr(*this)); }
  const std::shared_ptr<const popart_cpu::Term>& term() const { return term_; }

 private:
  std::shared_ptr<const popart_cpu::Term> term_;
};

// Any of them, for lists.
class Any : public Expr {
 public:
  Any(const Expr& expr) : Expr(expr) {}
};

class PlaceHolder : public Expr {
 public:
  PlaceHolder(unsigned index);  // from 1 on
};

// A number. It takes the type of what it is combined with; `type` where that is a number as well.
class Const : public Expr {
 public:
  template <typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type>
  Const(T value) : Const(poplar::equivalent_device_type<T>().value, static_cast<long double>(value)) {}

 protected:
  Const(poplar::Type type, long double value);
};

class ConstHalf : public Const {
 public:
  ConstHalf(float value) : Const(poplar::HALF, value) {}
};

inline ConstHalf operator"" _half(long double value) { return ConstHalf(static_cast<float>(value)); }

class Cast : public Expr {
 public:
  Cast(const Expr& a, poplar::Type type);
};

class UnaryOp : public Expr {
 public:
  UnaryOp(UnaryOpType type, const Expr& a);
};

class BinaryOp : public Expr {
 public:
  BinaryOp(BinaryOpType type, const Expr& a, const Expr& b);
};

class TernaryOp : public Expr {
 public:
  TernaryOp(TernaryOpType type, const Expr& a, const Expr& b, const Expr& c);
};

const PlaceHolder _1(1), _2(2), _3(3), _4(4), _5(5), _6(6), _7(7), _8(8), _9(9), _10(10);
const PlaceHolder _11(11), _12(12), _13(13), _14(14), _15(15), _16(16), _17(17), _18(18), _19(19), _20(20);

#define POPART_CPU_UNARY(Name, OP)                               \
  struct Name : UnaryOp {                                        \
    Name(const Expr& a) : UnaryOp(UnaryOpType::OP, a) {}         \
  };
#define POPART_CPU_UNARY_SYMBOL(Name, OP, symbol) \
  POPART_CPU_UNARY(Name, OP)                      \
  inline Name operator symbol(const Expr& a) { return Name(a); }
#define POPART_CPU_BINARY(Name, OP)                                              \
  struct Name : BinaryOp {                                                       \
    Name(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::OP, a, b) {}     \
  };
#define POPART_CPU_BINARY_SYMBOL(Name, OP, symbol)                                                             \
  POPART_CPU_BINARY(Name, OP)                                                                                  \
  inline Name operator symbol(const Expr& a, const Expr& b) { return Name(a, b); }                             \
  template <typename T>                                                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, Name>::type operator symbol(T a, const Expr& b) {      \
    return Name(Const(a), b);                                                                                  \
  }                                                                                                            \
  template <typename T>                                                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, Name>::type operator symbol(const Expr& a, T b) {      \
    return Name(a, Const(b));                                                                                  \
  }

POPART_CPU_UNARY(Abs, ABSOLUTE)
POPART_CPU_UNARY(Asin, ASIN)
POPART_CPU_UNARY_SYMBOL(BitwiseNot, BITWISE_NOT, ~)
POPART_CPU_UNARY(Cbrt, CBRT)
POPART_CPU_UNARY(Ceil, CEIL)
POPART_CPU_UNARY(Cos, COS)
POPART_CPU_UNARY(Erf, ERF)
POPART_CPU_UNARY(Exp, EXPONENT)
POPART_CPU_UNARY(Exp2, EXPONENT2)
POPART_CPU_UNARY(Expm1, EXPONENT_MINUS_ONE)
POPART_CPU_UNARY(Floor, FLOOR)
POPART_CPU_UNARY(GeluErf, GELU_ERF)
POPART_CPU_UNARY(Inv, INVERSE)
POPART_CPU_UNARY(IsFinite, IS_FINITE)
POPART_CPU_UNARY(IsInf, IS_INF)
POPART_CPU_UNARY(IsNaN, IS_NAN)
POPART_CPU_UNARY(Log, LOGARITHM)
POPART_CPU_UNARY(Log1p, LOGARITHM_ONE_PLUS)
POPART_CPU_UNARY(NearbyInt, NEARBY_INT)
POPART_CPU_UNARY_SYMBOL(Neg, NEGATE, -)
POPART_CPU_UNARY_SYMBOL(Not, LOGICAL_NOT, !)
POPART_CPU_UNARY(Round, ROUND)
POPART_CPU_UNARY(Rsqrt, RSQRT)
POPART_CPU_UNARY(Sigmoid, SIGMOID)
POPART_CPU_UNARY(Signum, SIGNUM)
POPART_CPU_UNARY(Sin, SIN)
POPART_CPU_UNARY(Sqrt, SQRT)
POPART_CPU_UNARY(Square, SQUARE)
POPART_CPU_UNARY(Tan, TAN)
POPART_CPU_UNARY(Tanh, TANH)
POPART_CPU_UNARY(Trunc, TRUNC)

POPART_CPU_BINARY_SYMBOL(Add, ADD, +)
POPART_CPU_BINARY(Atan2, ATAN2)
POPART_CPU_BINARY_SYMBOL(BitwiseAnd, BITWISE_AND, &)
POPART_CPU_BINARY_SYMBOL(BitwiseOr, BITWISE_OR, |)
POPART_CPU_BINARY(BitwiseXnor, BITWISE_XNOR)
POPART_CPU_BINARY_SYMBOL(BitwiseXor, BITWISE_XOR, ^)
POPART_CPU_BINARY_SYMBOL(Divide, DIVIDE, /)
POPART_CPU_BINARY_SYMBOL(Equal, EQUAL, ==)
POPART_CPU_BINARY_SYMBOL(Gt, GREATER_THAN, >)
POPART_CPU_BINARY_SYMBOL(Gte, GREATER_THAN_EQUAL, >=)
POPART_CPU_BINARY(InvStdDevToVariance, INV_STD_DEV_TO_VARIANCE)
POPART_CPU_BINARY_SYMBOL(Lt, LESS_THAN, <)
POPART_CPU_BINARY_SYMBOL(Lte, LESS_THAN_EQUAL, <=)
POPART_CPU_BINARY_SYMBOL(And, LOGICAL_AND, &&)
POPART_CPU_BINARY_SYMBOL(Or, LOGICAL_OR, ||)
POPART_CPU_BINARY(Max, MAXIMUM)
POPART_CPU_BINARY(Min, MINIMUM)
POPART_CPU_BINARY_SYMBOL(Mul, MULTIPLY, *)
POPART_CPU_BINARY_SYMBOL(NotEqual, NOT_EQUAL, !=)
POPART_CPU_BINARY(Pow, POWER)
POPART_CPU_BINARY_SYMBOL(Rem, REMAINDER, %)
POPART_CPU_BINARY_SYMBOL(Shl, SHIFT_LEFT, <<)
POPART_CPU_BINARY_SYMBOL(Shr, SHIFT_RIGHT, >>)
POPART_CPU_BINARY(ShrSE, SHIFT_RIGHT_SIGN_EXTEND)
POPART_CPU_BINARY_SYMBOL(Sub, SUBTRACT, -)
POPART_CPU_BINARY(VarianceToInvStdDev, VARIANCE_TO_INV_STD_DEV)

#undef POPART_CPU_UNARY
#undef POPART_CPU_UNARY_SYMBOL
#undef POPART_CPU_BINARY
#undef POPART_CPU_BINARY_SYMBOL

// Its third argument chooses between the others: the first where it is true.
struct Select : TernaryOp {
  Select(const Expr& a, const Expr& b, const Expr& c) : TernaryOp(TernaryOpType::SELECT, a, b, c) {}
};

// The first argument, no less than the second and no more than the third.
struct Clamp : TernaryOp {
  Clamp(const Expr& a, const Expr& b, const Expr& c) : TernaryOp(TernaryOpType::CLAMP, a, b, c) {}
};

}  // namespace expr
}  // namespace popops
