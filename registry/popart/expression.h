// Expressions, and what computes them block by block.
#ifndef PYKERNELS_REGISTRY_POPART_EXPRESSION_H_
#define PYKERNELS_REGISTRY_POPART_EXPRESSION_H_

#include <memory>
#include <vector>

#include <poplar/Type.hpp>

#include "kernels.h"

namespace popart_cpu {

// A node of an expression's tree.
struct Term {
  enum class Kind { kPlaceHolder, kConstant, kCast, kUnary, kBinary, kTernary };

  Kind kind;
  unsigned index = 0;     // of a place holder, from 1 on
  long double value = 0;  // of a constant
  poplar::Type type;      // of a constant, or what is cast to
  int op = 0;             // one of popops::expr::UnaryOpType and so on
  std::vector<std::shared_ptr<const Term>> operands{};
};

// An expression for operands of certain types: instructions on registers, which hold a block of elements each.
struct Formula {
  struct Constant {
    int out;
    poplar::Type type;
    long double value;
  };
  struct Instruction {
    Kernel kernel;
    int out;
    int in[3];  // -1 for none
  };

  poplar::Type type;                 // of the result
  int n_operands;                    // they are in the first registers
  std::vector<std::size_t> sizes{};  // of an element in the other registers
  std::vector<Constant> constants{};
  std::vector<Instruction> code{};
  int result = 0;
};

// Throws what is wrong with the types.
Formula Compile(const Term& term, const std::vector<poplar::Type>& operands);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_EXPRESSION_H_
