#include "gradient.h"

#include <algorithm>

#include "forward_mode.h"
#include "values.h"

namespace pykernels::torch_ops {

Gradient::Gradient(const Instance& forward, const pykernels::Tensors& inputs, const pykernels::Tensors& outputs)
    : plan_(forward, inputs, outputs) {
  const std::vector<bool>& read = plan_.reads().output_gradients;
  reads_no_gradient_ = std::find(read.begin(), read.end(), true) == read.end();
  AsGradientOf(forward.label(), [&] {
    for (const GradientPlan::Step& planned : plan_.steps()) steps_.push_back(MakeStep(planned));
  });
}

Gradient::Step Gradient::MakeStep(const GradientPlan::Step& planned) {
  Step step{&TorchOp::Find(planned.type), {}};
  const Layout& layout = step.op->loaded().layout();
  const pk_op& op = layout.op();
  auto input = planned.inputs.begin();
  for (int32_t i = 0; i < op.n_inputs; ++i) {
    const auto end = input + planned.input_counts[i];
    const bool is_listed = Layout::IsListed(op.inputs[i]);
    step.operands.push_back(
        {{}, {input, end}, is_listed ? Operand::kList : input == end ? Operand::kNone : Operand::kTensor});
    input = end;
  }
  for (int32_t position : layout.attributes()) {
    step.operands.push_back({ToValue(planned.attributes.values()[position]), {}, Operand::kValue});
  }
  for (int32_t i = 0; i < op.n_outputs; ++i) {
    if (!Layout::IsCounted(op.outputs[i])) continue;
    step.operands.push_back({static_cast<int64_t>(planned.output_counts[i]), {}, Operand::kValue});
  }
  if (step.operands.size() < layout.n_arguments()) step.operands.push_back({{}, {}, Operand::kIsTrain});
  return step;
}

void Gradient::RunStep(size_t at, bool is_train, Tensors* tensors) const {
  const Step& step = steps_[at];
  Stack stack;
  stack.reserve(step.operands.size());
  for (const Operand& operand : step.operands) {
    switch (operand.kind) {
      case Operand::kValue: stack.push_back(operand.value); break;
      case Operand::kTensor: stack.emplace_back((*tensors)[operand.tensors.front()]); break;
      case Operand::kNone: stack.emplace_back(); break;
      case Operand::kIsTrain: stack.emplace_back(is_train); break;
      case Operand::kList: {
        c10::List<Tensor> list;
        for (size_t tensor : operand.tensors) list.push_back((*tensors)[tensor]);
        stack.emplace_back(std::move(list));
      }
    }
  }
  const Layout& layout = step.op->loaded().layout();
  bool has_tangent = false;
  layout.ForEachInput(stack.data(), [&has_tangent](const Tensor& input) { has_tangent |= HasTangent(input); });
  {
    // When nothing is recorded, the autograd kernel would only mark states as changed; skip it if there are none.
    std::optional<at::AutoDispatchBelowADInplaceOrView> no_autograd;
    if (!at::GradMode::is_enabled() && !layout.has_states() && !has_tangent) no_autograd.emplace();
    step.op->Call(&stack);
  }
  size_t number = plan_.steps()[at].first_output;
  for (Tensor& result : layout.Outputs(stack.data() + stack.size() - layout.n_results())) {
    (*tensors)[number++] = std::move(result);
  }
}

}  // namespace pykernels::torch_ops
