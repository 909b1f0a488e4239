// Element-wise computation. Tensors of different shapes are broadcast as NumPy's arrays are.
#pragma once

#include <type_traits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/Expr.hpp>

namespace popops {

// Adds a step to `prog` that computes an expression; it gives a new tensor, changes the first one, or fills `out`.
poplar::Tensor map(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                   const poplar::OptionFlags& options = {});
void mapInPlace(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                const poplar::OptionFlags& options = {});
void mapWithOutput(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   const poplar::Tensor& out, poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                   const poplar::OptionFlags& options = {});

#define POPART_CPU_MAPS(OpType, Op, parameters, placeholders, ...)                                                   \
  inline poplar::Tensor map(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST parameters,                       \
                            poplar::program::Sequence& prog, const poplar::DebugContext& context = {},               \
                            const poplar::OptionFlags& options = {}) {                                               \
    return map(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, prog, context, options);            \
  }                                                                                                                  \
  inline void mapInPlace(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST parameters,                          \
                         poplar::program::Sequence& prog, const poplar::DebugContext& context = {},                  \
                         const poplar::OptionFlags& options = {}) {                                                  \
    mapInPlace(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, prog, context, options);            \
  }                                                                                                                  \
  inline void mapWithOutput(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST parameters,                       \
                            const poplar::Tensor& out, poplar::program::Sequence& prog,                              \
                            const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {     \
    mapWithOutput(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, out, prog, context, options);    \
  }
#define POPART_CPU_LIST(...) __VA_ARGS__
POPART_CPU_MAPS(UnaryOpType, UnaryOp, (const poplar::Tensor& a), (expr::_1), a)
POPART_CPU_MAPS(BinaryOpType, BinaryOp, (const poplar::Tensor& a, const poplar::Tensor& b), (expr::_1, expr::_2), a, b)
POPART_CPU_MAPS(TernaryOpType, TernaryOp,
                (const poplar::Tensor& a, const poplar::Tensor& b, const poplar::Tensor& c),
                (expr::_1, expr::_2, expr::_3), a, b, c)
#undef POPART_CPU_MAPS
#undef POPART_CPU_LIST

// A function for each operator: abs(), absInPlace(), absWithOutput().
#define POPART_CPU_UNARY(name, OP)                                                                                   \
  inline poplar::Tensor name(poplar::Graph& graph, const poplar::Tensor& a, poplar::program::Sequence& prog,         \
                             const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {    \
    return map(graph, expr::UnaryOpType::OP, a, prog, context, options);                                             \
  }                                                                                                                  \
  inline void name##InPlace(poplar::Graph& graph, const poplar::Tensor& a, poplar::program::Sequence& prog,          \
                            const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {     \
    mapInPlace(graph, expr::UnaryOpType::OP, a, prog, context, options);                                             \
  }                                                                                                                  \
  inline void name##WithOutput(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& out,             \
                               poplar::program::Sequence& prog, const poplar::DebugContext& context = {},            \
                               const poplar::OptionFlags& options = {}) {                                            \
    mapWithOutput(graph, expr::UnaryOpType::OP, a, out, prog, context, options);                                     \
  }
POPART_CPU_UNARY(abs, ABSOLUTE)
POPART_CPU_UNARY(asin, ASIN)
POPART_CPU_UNARY(bitwiseNot, BITWISE_NOT)
POPART_CPU_UNARY(cbrt, CBRT)
POPART_CPU_UNARY(ceil, CEIL)
POPART_CPU_UNARY(cos, COS)
POPART_CPU_UNARY(countLeadingZeros, COUNT_LEADING_ZEROS)
POPART_CPU_UNARY(erf, ERF)
POPART_CPU_UNARY(exp, EXPONENT)
POPART_CPU_UNARY(exp2, EXPONENT2)
POPART_CPU_UNARY(expm1, EXPONENT_MINUS_ONE)
POPART_CPU_UNARY(floor, FLOOR)
POPART_CPU_UNARY(geluErf, GELU_ERF)
POPART_CPU_UNARY(inv, INVERSE)
POPART_CPU_UNARY(isFinite, IS_FINITE)
POPART_CPU_UNARY(isInf, IS_INF)
POPART_CPU_UNARY(isNaN, IS_NAN)
POPART_CPU_UNARY(log, LOGARITHM)
POPART_CPU_UNARY(log1p, LOGARITHM_ONE_PLUS)
POPART_CPU_UNARY(logicalNot, LOGICAL_NOT)
POPART_CPU_UNARY(nearbyint, NEARBY_INT)
POPART_CPU_UNARY(neg, NEGATE)
POPART_CPU_UNARY(popcount, POPCOUNT)
POPART_CPU_UNARY(relu, RELU)
POPART_CPU_UNARY(round, ROUND)
POPART_CPU_UNARY(rsqrt, RSQRT)
POPART_CPU_UNARY(sigmoid, SIGMOID)
POPART_CPU_UNARY(signum, SIGNUM)
POPART_CPU_UNARY(sin, SIN)
POPART_CPU_UNARY(sqrt, SQRT)
POPART_CPU_UNARY(square, SQUARE)
POPART_CPU_UNARY(tan, TAN)
POPART_CPU_UNARY(tanh, TANH)
POPART_CPU_UNARY(trunc, TRUNC)
#undef POPART_CPU_UNARY

// Both tensors, or one of them a number.
#define POPART_CPU_NUMBER typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type
#define POPART_CPU_BINARY(name, OP)                                                                                  \
  inline poplar::Tensor name(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,                 \
                             poplar::program::Sequence& prog, const poplar::DebugContext& context = {},              \
                             const poplar::OptionFlags& options = {}) {                                              \
    return map(graph, expr::BinaryOpType::OP, a, b, prog, context, options);                                         \
  }                                                                                                                  \
  template <POPART_CPU_NUMBER>                                                                                       \
  poplar::Tensor name(poplar::Graph& graph, const poplar::Tensor& a, T b, poplar::program::Sequence& prog,           \
                      const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {           \
    return map(graph, expr::BinaryOp(expr::BinaryOpType::OP, expr::_1, expr::Const(b)), {a}, prog, context, options); \
  }                                                                                                                  \
  template <POPART_CPU_NUMBER>                                                                                       \
  poplar::Tensor name(poplar::Graph& graph, T a, const poplar::Tensor& b, poplar::program::Sequence& prog,           \
                      const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {           \
    return map(graph, expr::BinaryOp(expr::BinaryOpType::OP, expr::Const(a), expr::_1), {b}, prog, context, options); \
  }                                                                                                                  \
  inline void name##InPlace(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,                  \
                            poplar::program::Sequence& prog, const poplar::DebugContext& context = {},               \
                            const poplar::OptionFlags& options = {}) {                                               \
    mapInPlace(graph, expr::BinaryOpType::OP, a, b, prog, context, options);                                         \
  }                                                                                                                  \
  template <POPART_CPU_NUMBER>                                                                                       \
  void name##InPlace(poplar::Graph& graph, const poplar::Tensor& a, T b, poplar::program::Sequence& prog,            \
                     const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {            \
    mapInPlace(graph, expr::BinaryOp(expr::BinaryOpType::OP, expr::_1, expr::Const(b)), {a}, prog, context, options); \
  }                                                                                                                  \
  inline void name##WithOutput(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,               \
                               const poplar::Tensor& out, poplar::program::Sequence& prog,                           \
                               const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {  \
    mapWithOutput(graph, expr::BinaryOpType::OP, a, b, out, prog, context, options);                                 \
  }
POPART_CPU_BINARY(add, ADD)
POPART_CPU_BINARY(atan2, ATAN2)
POPART_CPU_BINARY(bitwiseAnd, BITWISE_AND)
POPART_CPU_BINARY(bitwiseOr, BITWISE_OR)
POPART_CPU_BINARY(bitwiseXnor, BITWISE_XNOR)
POPART_CPU_BINARY(bitwiseXor, BITWISE_XOR)
POPART_CPU_BINARY(div, DIVIDE)
POPART_CPU_BINARY(eq, EQUAL)
POPART_CPU_BINARY(gt, GREATER_THAN)
POPART_CPU_BINARY(gteq, GREATER_THAN_EQUAL)
POPART_CPU_BINARY(invStdDevToVariance, INV_STD_DEV_TO_VARIANCE)
POPART_CPU_BINARY(logicalAnd, LOGICAL_AND)
POPART_CPU_BINARY(logicalOr, LOGICAL_OR)
POPART_CPU_BINARY(lt, LESS_THAN)
POPART_CPU_BINARY(lteq, LESS_THAN_EQUAL)
POPART_CPU_BINARY(max, MAXIMUM)
POPART_CPU_BINARY(min, MINIMUM)
POPART_CPU_BINARY(mul, MULTIPLY)
POPART_CPU_BINARY(neq, NOT_EQUAL)
POPART_CPU_BINARY(pow, POWER)
POPART_CPU_BINARY(rem, REMAINDER)
POPART_CPU_BINARY(shiftLeft, SHIFT_LEFT)
POPART_CPU_BINARY(shiftRight, SHIFT_RIGHT)
POPART_CPU_BINARY(shiftRightSignExtend, SHIFT_RIGHT_SIGN_EXTEND)
POPART_CPU_BINARY(sub, SUBTRACT)
POPART_CPU_BINARY(varianceToInvStdDev, VARIANCE_TO_INV_STD_DEV)
#undef POPART_CPU_BINARY
#undef POPART_CPU_NUMBER

#define POPART_CPU_TERNARY(name, OP)                                                                                 \
  inline poplar::Tensor name(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,                 \
                             const poplar::Tensor& c, poplar::program::Sequence& prog,                               \
                             const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {    \
    return map(graph, expr::TernaryOpType::OP, a, b, c, prog, context, options);                                     \
  }                                                                                                                  \
  inline void name##InPlace(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,                  \
                            const poplar::Tensor& c, poplar::program::Sequence& prog,                                \
                            const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {     \
    mapInPlace(graph, expr::TernaryOpType::OP, a, b, c, prog, context, options);                                     \
  }                                                                                                                  \
  inline void name##WithOutput(poplar::Graph& graph, const poplar::Tensor& a, const poplar::Tensor& b,               \
                               const poplar::Tensor& c, const poplar::Tensor& out, poplar::program::Sequence& prog,  \
                               const poplar::DebugContext& context = {}, const poplar::OptionFlags& options = {}) {  \
    mapWithOutput(graph, expr::TernaryOpType::OP, a, b, c, out, prog, context, options);                             \
  }
POPART_CPU_TERNARY(select, SELECT)
POPART_CPU_TERNARY(clamp, CLAMP)
#undef POPART_CPU_TERNARY

}  // namespace popops
