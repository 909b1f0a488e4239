// A definition's gradient as calls of PyTorch's ops, which record what they do in their turn.
#ifndef PYKERNELS_REGISTRY_TORCH_GRADIENT_PLAN_H_
#define PYKERNELS_REGISTRY_TORCH_GRADIENT_PLAN_H_

#include <map>
#include <string>
#include <vector>

#include "op.h"

namespace pykernels::torch_ops {

// Several threads may use one at the same time. Tensors have numbers: the inputs of the forward pass, then its outputs,
// then their gradients, then what the steps compute.
class GradientPlan {
 public:
  // For tensors of known or unknown types. Throws if there is no such plan.
  GradientPlan(const Instance& forward, const pykernels::Tensors& inputs, const pykernels::Tensors& outputs);

  // Whether the gradient of an input is computed, and whether anything depends on that of an output.
  bool IsBound(size_t input) const { return bound_[input] >= 0; }
  bool UsesGradientOf(size_t output) const { return used_[first_gradient() + output]; }
  // Whether it depends on that of none, as that of a loss that ends a network does.
  bool UsesNoGradient() const;

  // Whether the plan reads them.
  bool UsesInput(size_t input) const { return used_[input]; }
  bool UsesOutput(size_t output) const { return used_[n_inputs_ + output]; }

  size_t first_output() const { return n_inputs_; }
  size_t first_gradient() const { return n_inputs_ + n_outputs_; }

  // The gradients of the inputs that are wanted, true for each; undefined for the others, and for those that have none.
  // `forward` holds what the plan reads of the forward pass, by number. No tensor has a forward-mode derivative.
  std::vector<Tensor> Run(Tensors forward, bool is_train, c10::ArrayRef<bool> is_wanted) const;

 private:
  // What is to lie on the stack: a value, or tensors by their numbers.
  struct Operand {
    IValue value;
    std::vector<size_t> tensors;
    enum { kValue, kTensor, kNone, kList, kIsTrain } kind = kValue;
  };

  struct Step {
    const TorchOp* op;
    std::vector<Operand> operands;
    size_t first_result;
    size_t n_results;
  };

  void AddBlobs(const char* prefix, const pykernels::Tensors& tensors);
  void AddStep(const PlannedOp& planned);
  std::vector<Operand> ReadInputs(const PlannedOp& planned, const pk_op& op);
  size_t FindBlob(const std::string& blob, const std::string& user);
  bool IsNeeded(const Step& step, const std::vector<bool>& needed) const;
  // Which tensors the gradients of the inputs that are wanted are computed from, those gradients among them.
  std::vector<bool> FindNeeded(c10::ArrayRef<bool> is_wanted) const;
  void RunStep(const Step& step, bool is_train, Tensors* tensors) const;

  size_t n_inputs_;
  size_t n_outputs_;
  std::map<std::string, size_t> numbers_;  // by blob
  std::vector<bool> used_;
  std::vector<Step> steps_;
  std::vector<int> bound_;  // for every input the number of its gradient, or -1
  std::vector<bool> needed_for_all_;
};

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_GRADIENT_PLAN_H_
