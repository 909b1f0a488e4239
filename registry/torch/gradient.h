// Computes a definition's gradient by calling PyTorch's ops, which record themselves for higher derivatives.
#pragma once

#include <vector>

#include "../host/gradient_plan.h"
#include "op.h"

namespace pykernels::torch_ops {

// Safe to use from several threads at the same time.
class Gradient {
 public:
  // Makes the gradient for tensors of known or unknown types. Throws if there is none.
  Gradient(const Instance& forward, const pykernels::Tensors& inputs, const pykernels::Tensors& outputs);

  const GradientPlan& plan() const { return plan_; }
  // Returns whether the gradient of an output matters: the plan reads it, or reads none, as for a loss that ends a
  // network.
  bool UsesGradientOf(size_t output) const { return reads_no_gradient_ || plan_.reads().output_gradients[output]; }

  // Computes the gradients; see GradientPlan::Run for `is_wanted` and `forward`.
  template <typename IsWanted, typename Forward>
  std::vector<Tensor> Run(const IsWanted& is_wanted, const Forward& forward, bool is_train) const {
    return plan_.Run<Tensors>(is_wanted, forward,
                              [&](size_t step, Tensors* tensors) { RunStep(step, is_train, tensors); });
  }

 private:
  // An operand to push onto the stack: a value, or tensors by their numbers.
  struct Operand {
    IValue value;
    std::vector<size_t> tensors;
    enum { kValue, kTensor, kNone, kList, kIsTrain } kind = kValue;
  };

  struct Step {
    const TorchOp* op;
    std::vector<Operand> operands;
  };

  static Step MakeStep(const GradientPlan::Step& planned);
  void RunStep(size_t step, bool is_train, Tensors* tensors) const;

  GradientPlan plan_;
  bool reads_no_gradient_;
  std::vector<Step> steps_;
};

}  // namespace pykernels::torch_ops
