// Computes forward-mode derivatives, the tangents of outputs, by the op that the definition has for them.
#pragma once

#include "op.h"

namespace pykernels::torch_ops {

// Returns whether a tensor has a tangent.
inline bool HasTangent(const Tensor& tensor) { return torch::autograd::isFwGradDefined(tensor); }

// A call of an op whose inputs have tangents.
class TangentCall {
 public:
  // Keeps the arguments. Throws if there is no op that computes the tangents.
  TangentCall(const TorchOp& op, const IValue* arguments);

  // Gives the results of the call their tangents.
  void Run(const IValue* results) const;

 private:
  // Returns the operand that an argument of the tangent op stands for.
  IValue Operand(const std::string& name, const IValue* results) const;
  const IValue& Attribute(const char* name) const;
  [[noreturn]] void FailBecause(const std::string& problem) const;

  const TorchOp& op_;
  const Layout& layout_;
  const std::vector<IValue> arguments_;
  const pk_op* declared_;
};

}  // namespace pykernels::torch_ops
