// Where the arguments and results of an op lie on PyTorch's stack. The schema that pykernels/frameworks/torch/layout.py
// writes lists the inputs, the attributes, how many tensors each output stands for that may have more or fewer, and
// whether it is a training pass, for a kernel that asks.
#ifndef PYKERNELS_REGISTRY_TORCH_LAYOUT_H_
#define PYKERNELS_REGISTRY_TORCH_LAYOUT_H_

#include <pykernels/definition.h>

#include <vector>

#include "headers.h"

namespace pykernels::torch_ops {

using Tensors = c10::SmallVector<Tensor, 8>;

class Layout {
 public:
  Layout(const pk_op& op, bool takes_is_train);

  size_t n_arguments() const { return n_arguments_; }
  size_t n_results() const { return op_.n_outputs; }
  const pk_op& op() const { return op_; }
  // Whether there are inputs that the kernel changes, which are the last.
  bool has_states() const { return op_.n_inputs && op_.inputs[op_.n_inputs - 1].is_mutable; }

  // Whether an input or output is a list on the stack, though it may have one tensor.
  static bool IsListed(const pk_argument& argument) { return argument.variadic || argument.count > 1; }
  // Whether the caller says how many tensors an output stands for.
  static bool IsCounted(const pk_argument& output) { return output.variadic || output.optional; }

  // For each attribute that is on the stack, its position in the definition; the first comes after the inputs.
  const std::vector<int32_t>& attributes() const { return attributes_; }

  // The functions below take the first argument, or the first result, on the stack.

  // Calls `body` with all inputs that there are, in order.
  template <typename Body>
  void ForEachInput(const IValue* arguments, const Body& body) const {
    for (int32_t i = 0; i < op_.n_inputs; ++i) {
      if (arguments[i].isTensor()) {
        body(arguments[i].toTensor());
      } else if (arguments[i].isList()) {
        for (const IValue& each : arguments[i].toListRef()) body(each.toTensor());
      }
    }
  }
  Tensors Inputs(const IValue* arguments) const;
  // How many there are of each, and of each output.
  void CountInputs(const IValue* arguments, std::vector<int32_t>* counts) const;
  void CountOutputs(const IValue* arguments, std::vector<int32_t>* counts) const;
  bool IsTrain(const IValue* arguments) const;

  Tensors Outputs(const IValue* results) const;
  // Puts `outputs`, of which there are as many as `counts` says, on the stack.
  void PushOutputs(const std::vector<int32_t>& counts, Tensors outputs, Stack* stack) const;

 private:
  const pk_op& op_;
  bool takes_is_train_;
  std::vector<int32_t> attributes_;
  std::vector<int32_t> counted_;  // outputs
  size_t n_arguments_;
};

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_LAYOUT_H_
