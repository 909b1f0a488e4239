// Describes where the arguments and results of an op lie on PyTorch's stack. The schema that
// pykernels/frameworks/torch/layout.py writes lists the inputs, the attributes, the number of tensors of each output
// where it varies, and, for a kernel that takes it, whether the call is part of a training pass.
#pragma once

#include <pykernels/definition.h>

#include <vector>

#include "headers.h"

namespace pykernels::torch_ops {

using Tensors = c10::SmallVector<Tensor, 8>;

// Returns an operand of a call with `map` applied to each of its tensors: one, a list of them, or none.
template <typename Map>
IValue MapTensors(const IValue& operand, const Map& map) {
  if (operand.isTensor()) return map(operand.toTensor());
  if (!operand.isList()) return operand;
  c10::List<Tensor> tensors;
  for (const IValue& each : operand.toListRef()) tensors.push_back(map(each.toTensor()));
  return tensors;
}

class Layout {
 public:
  Layout(const pk_op& op, bool takes_is_train);

  size_t n_arguments() const { return n_arguments_; }
  size_t n_results() const { return op_.n_outputs; }
  const pk_op& op() const { return op_; }
  // Returns whether the kernel changes some inputs; those come last.
  bool has_states() const { return op_.n_inputs && op_.inputs[op_.n_inputs - 1].is_mutable; }

  // Returns whether an input or output is a list on the stack, even of one tensor.
  static bool IsListed(const pk_argument& argument) { return argument.variadic || argument.count > 1; }
  // Returns whether the caller gives the number of tensors of an output.
  static bool IsCounted(const pk_argument& output) { return output.variadic || output.optional; }

  // The position in the definition of each attribute on the stack. The attributes follow the inputs.
  const std::vector<int32_t>& attributes() const { return attributes_; }

  // `arguments` and `results` below point to the first of them on the stack.

  // Calls `body` with every input tensor, in order.
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
  // Count the tensors of each input, and of each output.
  void CountInputs(const IValue* arguments, std::vector<int32_t>* counts) const;
  void CountOutputs(const IValue* arguments, std::vector<int32_t>* counts) const;
  bool IsTrain(const IValue* arguments) const;

  Tensors Outputs(const IValue* results) const;
  // Pushes `outputs` onto the stack; `counts` says how many there are of each.
  void PushOutputs(const std::vector<int32_t>& counts, Tensors outputs, Stack* stack) const;

 private:
  const pk_op& op_;
  bool takes_is_train_;
  std::vector<int32_t> attributes_;
  std::vector<int32_t> counted_;  // positions of outputs
  size_t n_arguments_;
};

}  // namespace pykernels::torch_ops
