// Kernels for blocks of elements, one for each operator and element type.
#pragma once

#include <cstddef>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace popart_cpu {

// Computes `n` elements. `out` does not overlap the inputs; inputs that the operator does not take are null.
using Kernel = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

struct Operator {
  const char* name;
  // Returns null if the operator does not support operands of this type. Blocks hold halves as floats.
  Kernel (*find)(poplar::Type operand);
  bool takes_truths;  // its operands are booleans
  bool gives_truths;  // its result is boolean for any operands
  bool is_select;     // its last operand is boolean, whatever the type of the others is
};

const Operator& OperatorOf(popops::expr::UnaryOpType type);
const Operator& OperatorOf(popops::expr::BinaryOpType type);
const Operator& OperatorOf(popops::expr::TernaryOpType type);

Kernel FindCast(poplar::Type from, poplar::Type to);

// Returns the bytes of one element in the blocks that kernels work on.
std::size_t SizeInBlock(poplar::Type type);

}  // namespace popart_cpu
