#include "gradient_plan.h"

#include <algorithm>

#include "values.h"

namespace pykernels::torch_ops {
namespace {

int32_t FindArgument(const pk_argument* arguments, int32_t n, const std::string& name, const char* what,
                     const std::string& type) {
  for (int32_t i = 0; i < n; ++i) {
    if (name == arguments[i].name) return i;
  }
  Fail(kDefinitionError, "among the ", what, " of op type '", type, "' is no '", name, "'");
}

std::vector<int32_t> CountOutputs(const PlannedOp& planned, const pk_op& op) {
  std::vector<int32_t> counts;
  for (int32_t i = 0; i < op.n_outputs; ++i) {
    counts.push_back(Layout::IsCounted(op.outputs[i]) ? 0 : op.outputs[i].count);
  }
  for (const auto& [name, count] : planned.outputs) {
    counts[FindArgument(op.outputs, op.n_outputs, name, "outputs", planned.type)] = count;
  }
  return counts;
}

}  // namespace

GradientPlan::GradientPlan(const Instance& forward, const pykernels::Tensors& inputs, const pykernels::Tensors& outputs)
    : n_inputs_(inputs.size()), n_outputs_(outputs.size()), bound_(inputs.size(), -1) {
  if (!forward.op().has_gradient()) {
    Fail(kDefinitionError, "op '", forward.label(), "' has no gradient: its definition registers none for '",
         forward.op().name(), "'");
  }
  AddBlobs("I/", inputs);
  AddBlobs("O/", outputs);
  AddBlobs("D/", outputs);
  try {
    const PlannedGradient plan = RecordGradient(forward.op(), forward.View(inputs, outputs));
    for (const PlannedOp& planned : plan.ops) AddStep(planned);
    for (const auto& [input, blob] : plan.bindings) {
      const int at = FindTensor(inputs, input.first, input.second);
      if (at < 0) {
        Fail(kDefinitionError, "it binds the gradient of '", input.first, "' ", input.second,
             ", which is no input of the op");
      }
      bound_[at] = static_cast<int>(FindBlob(blob, Join("the gradient of '", input.first, "'")));
    }
  } catch (const Error& error) {
    Fail(kDefinitionError, "the gradient of op '", forward.label(), "': ", error.what());
  }
  needed_for_all_ = FindNeeded(c10::SmallVector<bool, 8>(n_inputs_, true));
}

void GradientPlan::AddBlobs(const char* prefix, const pykernels::Tensors& tensors) {
  for (const pk_tensor& tensor : tensors) {
    numbers_[Join(prefix, tensor.argument, "/", tensor.index)] = used_.size();
    used_.push_back(false);
  }
}

size_t GradientPlan::FindBlob(const std::string& blob, const std::string& user) {
  const auto found = numbers_.find(blob);
  if (found == numbers_.end()) {
    Fail(kDefinitionError, user, " uses '", blob,
         "', which is no tensor of the forward pass and no output of an earlier op");
  }
  used_[found->second] = true;
  return found->second;
}

std::vector<GradientPlan::Operand> GradientPlan::ReadInputs(const PlannedOp& planned, const pk_op& op) {
  std::vector<Operand> operands(op.n_inputs);
  for (const auto& [name, blob] : planned.inputs) {
    const int32_t at = FindArgument(op.inputs, op.n_inputs, name, "inputs", planned.type);
    operands[at].tensors.push_back(FindBlob(blob, Join("op type '", planned.type, "'")));
  }
  for (int32_t i = 0; i < op.n_inputs; ++i) {
    Operand& operand = operands[i];
    const bool is_listed = Layout::IsListed(op.inputs[i]);
    operand.kind = is_listed ? Operand::kList : operand.tensors.empty() ? Operand::kNone : Operand::kTensor;
    if (!is_listed && (operand.tensors.size() > 1 || (operand.tensors.empty() && !op.inputs[i].optional))) {
      Fail(kDefinitionError, "op type '", planned.type, "' gets ", operand.tensors.size(), " tensors for its input '",
           op.inputs[i].name, "'");
    }
  }
  return operands;
}

void GradientPlan::AddStep(const PlannedOp& planned) {
  const TorchOp* op = nullptr;
  try {
    op = &TorchOp::Find(planned.type);
  } catch (const Error& error) {
    Fail(kDefinitionError, "it uses op type '", planned.type, "', which no loaded folder provides: ", error.what());
  }
  const Layout& layout = op->loaded().layout();
  const pk_op& declared = layout.op();
  std::vector<pk_attr> given;
  for (const auto& value : planned.attributes) given.push_back(value->get());
  const Attributes attributes = Attributes::Fill(declared, planned.type, given);
  Step step{op, ReadInputs(planned, declared), used_.size(), 0};
  for (int32_t position : layout.attributes()) {
    step.operands.push_back({ToValue(attributes.values()[position]), {}, Operand::kValue});
  }
  const std::vector<int32_t> counts = CountOutputs(planned, declared);
  for (int32_t i = 0; i < declared.n_outputs; ++i) {
    if (Layout::IsCounted(declared.outputs[i])) {
      step.operands.push_back({static_cast<int64_t>(counts[i]), {}, Operand::kValue});
    }
    for (int32_t k = 0; k < counts[i]; ++k) {
      const std::string blob = Join(planned.name, "/", declared.outputs[i].name, "_", k);
      if (!numbers_.emplace(blob, used_.size()).second) {
        Fail(kDefinitionError, "two of its ops are called '", planned.name, "'");
      }
      used_.push_back(false);
      ++step.n_results;
    }
  }
  if (step.operands.size() < layout.n_arguments()) step.operands.push_back({{}, {}, Operand::kIsTrain});
  steps_.push_back(std::move(step));
}

bool GradientPlan::UsesNoGradient() const {
  const auto first = used_.begin() + static_cast<ptrdiff_t>(first_gradient());
  return std::none_of(first, first + static_cast<ptrdiff_t>(n_outputs_), [](bool is) { return is; });
}

bool GradientPlan::IsNeeded(const Step& step, const std::vector<bool>& needed) const {
  const auto first = needed.begin() + static_cast<ptrdiff_t>(step.first_result);
  return std::any_of(first, first + static_cast<ptrdiff_t>(step.n_results), [](bool is) { return is; });
}

std::vector<bool> GradientPlan::FindNeeded(c10::ArrayRef<bool> is_wanted) const {
  std::vector<bool> needed(used_.size());
  for (size_t i = 0; i < n_inputs_; ++i) {
    if (bound_[i] >= 0 && is_wanted[i]) needed[bound_[i]] = true;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!IsNeeded(*step, needed)) continue;
    for (const Operand& operand : step->operands) {
      for (size_t tensor : operand.tensors) needed[tensor] = true;
    }
  }
  return needed;
}

void GradientPlan::RunStep(const Step& step, bool is_train, Tensors* tensors) const {
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
  {
    // Where nothing is recorded, the kernel for autograd has nothing to do but to mark states as changed.
    std::optional<at::AutoDispatchBelowADInplaceOrView> no_autograd;
    if (!at::GradMode::is_enabled() && !layout.has_states()) no_autograd.emplace();
    step.op->Call(&stack);
  }
  size_t at = step.first_result;
  for (Tensor& result : layout.Outputs(stack.data() + stack.size() - layout.n_results())) {
    (*tensors)[at++] = std::move(result);
  }
}

std::vector<Tensor> GradientPlan::Run(Tensors forward, bool is_train, c10::ArrayRef<bool> is_wanted) const {
  Tensors tensors = std::move(forward);
  tensors.resize(used_.size());
  bool are_all_wanted = true;
  for (size_t i = 0; i < n_inputs_; ++i) are_all_wanted &= is_wanted[i] || bound_[i] < 0;
  const std::vector<bool> found = are_all_wanted ? std::vector<bool>() : FindNeeded(is_wanted);
  const std::vector<bool>& needed = are_all_wanted ? needed_for_all_ : found;
  for (const Step& step : steps_) {
    if (IsNeeded(step, needed)) RunStep(step, is_train, &tensors);
  }
  std::vector<Tensor> gradients(n_inputs_);
  for (size_t i = 0; i < n_inputs_; ++i) {
    if (bound_[i] >= 0 && is_wanted[i]) gradients[i] = tensors[bound_[i]];
  }
  return gradients;
}

}  // namespace pykernels::torch_ops
