// Expressions of the elements of tensors: _1 stands for those of the first tensor, and so on.
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

// The base of all expressions: a handle to an immutable tree.
class Expr {
 public:
  explicit Expr(std::shared_ptr<const popart_cpu::Term> term) : term_(std::move(term)) {}
  virtual ~Expr() {}

  std::unique_ptr<Expr> clone() const { return std::unique_ptr<Expr>(new Expr(*this)); }
  const std::shared_ptr<const popart_cpu::Term>& term() const { return term_; }

 private:
  std::shared_ptr<const popart_cpu::Term> term_;
};

// Holds any expression, for use in lists.
class Any : public Expr {
 public:
  Any(const Expr& expr) : Expr(expr) {}
};

class PlaceHolder : public Expr {
 public:
  PlaceHolder(unsigned index);  // from 1
};

// A number. It takes the type of the operand that it is combined with, or `type` if that is a number too.
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

#define POPART_CPU_UNARY(OP, Class, function)                     \
  struct Class : UnaryOp {                                        \
    Class(const Expr& a) : UnaryOp(UnaryOpType::OP, a) {}         \
  };
POPART_CPU_UNARY_OPERATORS(POPART_CPU_UNARY)
#undef POPART_CPU_UNARY

#define POPART_CPU_BINARY(OP, Class, function)                                    \
  struct Class : BinaryOp {                                                       \
    Class(const Expr& a, const Expr& b) : BinaryOp(BinaryOpType::OP, a, b) {}     \
  };
POPART_CPU_BINARY_OPERATORS(POPART_CPU_BINARY)
#undef POPART_CPU_BINARY

// Select chooses the first argument where the third is true, otherwise the second. Clamp limits the first argument to
// the range from the second to the third.
#define POPART_CPU_TERNARY(OP, Class, function)                                                                  \
  struct Class : TernaryOp {                                                                                     \
    Class(const Expr& a, const Expr& b, const Expr& c) : TernaryOp(TernaryOpType::OP, a, b, c) {}                \
  };
POPART_CPU_TERNARY_OPERATORS(POPART_CPU_TERNARY)
#undef POPART_CPU_TERNARY

inline BitwiseNot operator~(const Expr& a) { return BitwiseNot(a); }
inline Neg operator-(const Expr& a) { return Neg(a); }
inline Not operator!(const Expr& a) { return Not(a); }

#define POPART_CPU_SYMBOL(Class, symbol)                                                                       \
  inline Class operator symbol(const Expr& a, const Expr& b) { return Class(a, b); }                           \
  template <typename T>                                                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, Class>::type operator symbol(T a, const Expr& b) {     \
    return Class(Const(a), b);                                                                                 \
  }                                                                                                            \
  template <typename T>                                                                                        \
  typename std::enable_if<std::is_arithmetic<T>::value, Class>::type operator symbol(const Expr& a, T b) {     \
    return Class(a, Const(b));                                                                                 \
  }
POPART_CPU_SYMBOL(Add, +)
POPART_CPU_SYMBOL(BitwiseAnd, &)
POPART_CPU_SYMBOL(BitwiseOr, |)
POPART_CPU_SYMBOL(BitwiseXor, ^)
POPART_CPU_SYMBOL(Divide, /)
POPART_CPU_SYMBOL(Equal, ==)
POPART_CPU_SYMBOL(Gt, >)
POPART_CPU_SYMBOL(Gte, >=)
POPART_CPU_SYMBOL(Lt, <)
POPART_CPU_SYMBOL(Lte, <=)
POPART_CPU_SYMBOL(And, &&)
POPART_CPU_SYMBOL(Or, ||)
POPART_CPU_SYMBOL(Mul, *)
POPART_CPU_SYMBOL(NotEqual, !=)
POPART_CPU_SYMBOL(Rem, %)
POPART_CPU_SYMBOL(Shl, <<)
POPART_CPU_SYMBOL(Shr, >>)
POPART_CPU_SYMBOL(Sub, -)
#undef POPART_CPU_SYMBOL

}  // namespace expr
}  // namespace popops
