// Elementwise computation. Tensors of different shapes are broadcast like NumPy's arrays.
#pragma once

#include <type_traits>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/Expr.hpp>

namespace popops {

// Add a step to `prog` that computes an expression. They return a new tensor, change the first one, or fill `out`.
poplar::Tensor map(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                   const poplar::OptionFlags& options = {});
void mapInPlace(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                const poplar::OptionFlags& options = {});
void mapWithOutput(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   const poplar::Tensor& out, poplar::program::Sequence& prog, const poplar::DebugContext& context = {},
                   const poplar::OptionFlags& options = {});

#define POPART_CPU_LIST(...) __VA_ARGS__
#define POPART_CPU_PARAMETERS \
  poplar::program::Sequence &prog, const poplar::DebugContext &context = {}, const poplar::OptionFlags &options = {}

// Do the same for an operator by its number.
#define POPART_CPU_MAPS(OpType, Op, tensors, placeholders, ...)                                                       \
  inline poplar::Tensor map(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST tensors, POPART_CPU_PARAMETERS) { \
    return map(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, prog, context, options);            \
  }                                                                                                                  \
  inline void mapInPlace(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST tensors, POPART_CPU_PARAMETERS) {    \
    mapInPlace(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, prog, context, options);            \
  }                                                                                                                  \
  inline void mapWithOutput(poplar::Graph& graph, expr::OpType op, POPART_CPU_LIST tensors,                          \
                            const poplar::Tensor& out, POPART_CPU_PARAMETERS) {                                      \
    mapWithOutput(graph, expr::Op(op, POPART_CPU_LIST placeholders), {__VA_ARGS__}, out, prog, context, options);    \
  }
POPART_CPU_MAPS(UnaryOpType, UnaryOp, (const poplar::Tensor& a), (expr::_1), a)
POPART_CPU_MAPS(BinaryOpType, BinaryOp, (const poplar::Tensor& a, const poplar::Tensor& b), (expr::_1, expr::_2), a, b)
POPART_CPU_MAPS(TernaryOpType, TernaryOp,
                (const poplar::Tensor& a, const poplar::Tensor& b, const poplar::Tensor& c),
                (expr::_1, expr::_2, expr::_3), a, b, c)
#undef POPART_CPU_MAPS

// Define functions for each operator: abs(), absInPlace(), absWithOutput().
#define POPART_CPU_FUNCTIONS(name, op, tensors, ...)                                                                 \
  inline poplar::Tensor name(poplar::Graph& graph, POPART_CPU_LIST tensors, POPART_CPU_PARAMETERS) {                 \
    return map(graph, op, __VA_ARGS__, prog, context, options);                                                      \
  }                                                                                                                  \
  inline void name##InPlace(poplar::Graph& graph, POPART_CPU_LIST tensors, POPART_CPU_PARAMETERS) {                  \
    mapInPlace(graph, op, __VA_ARGS__, prog, context, options);                                                      \
  }                                                                                                                  \
  inline void name##WithOutput(poplar::Graph& graph, POPART_CPU_LIST tensors, const poplar::Tensor& out,             \
                               POPART_CPU_PARAMETERS) {                                                              \
    mapWithOutput(graph, op, __VA_ARGS__, out, prog, context, options);                                              \
  }
#define POPART_CPU_UNARY(OP, Class, name) \
  POPART_CPU_FUNCTIONS(name, expr::UnaryOpType::OP, (const poplar::Tensor& a), a)
POPART_CPU_UNARY_OPERATORS(POPART_CPU_UNARY)
#undef POPART_CPU_UNARY

// Take two tensors, or a tensor and a number.
#define POPART_CPU_NUMBER typename T, typename = typename std::enable_if<std::is_arithmetic<T>::value>::type
#define POPART_CPU_BINARY(OP, Class, name)                                                                           \
  POPART_CPU_FUNCTIONS(name, expr::BinaryOpType::OP, (const poplar::Tensor& a, const poplar::Tensor& b), a, b)       \
  template <POPART_CPU_NUMBER>                                                                                       \
  poplar::Tensor name(poplar::Graph& graph, const poplar::Tensor& a, T b, POPART_CPU_PARAMETERS) {                   \
    return map(graph, expr::Class(expr::_1, expr::Const(b)), {a}, prog, context, options);                           \
  }                                                                                                                  \
  template <POPART_CPU_NUMBER>                                                                                       \
  poplar::Tensor name(poplar::Graph& graph, T a, const poplar::Tensor& b, POPART_CPU_PARAMETERS) {                   \
    return map(graph, expr::Class(expr::Const(a), expr::_1), {b}, prog, context, options);                           \
  }                                                                                                                  \
  template <POPART_CPU_NUMBER>                                                                                       \
  void name##InPlace(poplar::Graph& graph, const poplar::Tensor& a, T b, POPART_CPU_PARAMETERS) {                    \
    mapInPlace(graph, expr::Class(expr::_1, expr::Const(b)), {a}, prog, context, options);                           \
  }
POPART_CPU_BINARY_OPERATORS(POPART_CPU_BINARY)
#undef POPART_CPU_BINARY
#undef POPART_CPU_NUMBER

#define POPART_CPU_TERNARY(OP, Class, name)                                                                          \
  POPART_CPU_FUNCTIONS(name, expr::TernaryOpType::OP,                                                                \
                       (const poplar::Tensor& a, const poplar::Tensor& b, const poplar::Tensor& c), a, b, c)
POPART_CPU_TERNARY_OPERATORS(POPART_CPU_TERNARY)
#undef POPART_CPU_TERNARY
#undef POPART_CPU_FUNCTIONS
#undef POPART_CPU_PARAMETERS
#undef POPART_CPU_LIST

}  // namespace popops
