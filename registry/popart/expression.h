// Expressions, and the formulas that compute them block by block.
#pragma once

#include <memory>
#include <vector>

#include <poplar/Type.hpp>

#include "kernels.h"

namespace popart_cpu {

// A node of an expression's tree.
struct Term {
  enum class Kind { kPlaceHolder, kConstant, kCast, kOperator };

  Kind kind;
  unsigned index = 0;            // of a placeholder, from 1
  long double value = 0;         // of a constant
  poplar::Type type{};           // of a constant, or the target of a cast
  const Operator* op = nullptr;  // for kOperator
  std::vector<std::shared_ptr<const Term>> operands{};
};

// An expression compiled for given operand types: instructions on registers, each of which holds a block of elements.
struct Formula {
  struct Constant {
    int out;
    poplar::Type type;
    long double value;
  };
  struct Instruction {
    Kernel kernel;
    int out;
    int in[3];  // -1 if unused
  };

  poplar::Type type;                 // of the result
  int n_operands;                    // in the first registers
  std::vector<std::size_t> sizes{};  // bytes of an element in each other register
  std::vector<Constant> constants{};
  std::vector<Instruction> code{};
  int result = 0;
};

// Compiles an expression; throws if the types do not fit.
Formula Compile(const Term& term, const std::vector<poplar::Type>& operands);

}  // namespace popart_cpu
