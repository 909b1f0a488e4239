// Loops over blocks of elements, one for each operator and element type.
#ifndef PYKERNELS_REGISTRY_POPART_KERNELS_H_
#define PYKERNELS_REGISTRY_POPART_KERNELS_H_

#include <cstddef>

#include <poplar/Type.hpp>
#include <popops/ExprOp.hpp>

namespace popart_cpu {

// Computes `n` elements. `out` is none of the others; those that an operator does not have are null.
using Kernel = void (*)(void* out, const void* a, const void* b, const void* c, std::size_t n);

// Null if the operator is not for operands of this type. Halves are given as floats.
Kernel FindKernel(popops::expr::UnaryOpType op, poplar::Type operand);
Kernel FindKernel(popops::expr::BinaryOpType op, poplar::Type operand);
Kernel FindKernel(popops::expr::TernaryOpType op, poplar::Type operand);
Kernel FindCast(poplar::Type from, poplar::Type to);

const char* NameOf(popops::expr::UnaryOpType op);
const char* NameOf(popops::expr::BinaryOpType op);
const char* NameOf(popops::expr::TernaryOpType op);

// What an element takes in the blocks that kernels work on.
std::size_t SizeInBlock(poplar::Type type);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_KERNELS_H_
