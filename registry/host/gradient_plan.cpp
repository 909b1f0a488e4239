#include "gradient_plan.h"

#include <algorithm>

namespace pykernels {
namespace {

int32_t FindArgument(const pk_argument* arguments, int32_t n, const std::string& name, const char* what,
                     const std::string& type) {
  for (int32_t i = 0; i < n; ++i) {
    if (name == arguments[i].name) return i;
  }
  Fail(kDefinitionError, "among the ", what, " of op type '", type, "' is no '", name, "'");
}

std::shared_ptr<const Op> FindOp(const std::string& type) {
  try {
    return OpTable::Get().Find(type);
  } catch (const Error& error) {
    Fail(kDefinitionError, "it uses op type '", type, "', which no loaded folder provides: ", error.what());
  }
}

std::vector<int32_t> CountInputs(const PlannedOp& planned, const pk_op& op) {
  std::vector<int32_t> counts(op.n_inputs);
  for (const auto& [name, blob] : planned.inputs) {
    ++counts[FindArgument(op.inputs, op.n_inputs, name, "inputs", planned.type)];
  }
  return DistributeTensors(op.inputs, op.n_inputs, {counts, -1}, planned.type, "inputs");
}

std::vector<int32_t> CountOutputs(const PlannedOp& planned, const pk_op& op) {
  std::vector<int32_t> counts;
  for (int32_t i = 0; i < op.n_outputs; ++i) counts.push_back(op.outputs[i].optional ? 0 : op.outputs[i].count);
  for (const auto& [name, count] : planned.outputs) {
    counts[FindArgument(op.outputs, op.n_outputs, name, "outputs", planned.type)] = count;
  }
  return DistributeTensors(op.outputs, op.n_outputs, {counts, -1}, planned.type, "outputs");
}

}  // namespace

GradientPlan::GradientPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs, const char* name)
    : label_(forward.label()),
      forward_blobs_(ForwardBlobs(inputs, outputs)),
      n_inputs_(inputs.size()),
      n_outputs_(outputs.size()),
      n_tensors_(forward_blobs_.size()),
      bound_(inputs.size(), -1) {
  Numbers numbers;
  for (const std::string& blob : forward_blobs_) numbers.emplace(blob, numbers.size());
  if (!forward.op().is_declared_constant()) Record(forward, inputs, outputs, name, &numbers);
  needed_for_all_ = FindNeeded([](size_t) { return true; });
}

void GradientPlan::Record(const Instance& forward, const Tensors& inputs, const Tensors& outputs, const char* name,
                          Numbers* numbers) {
  if (!forward.op().has_gradient()) {
    Fail(kDefinitionError, "op '", label_, "' has no gradient: its definition registers none for '",
         forward.op().name(), "'");
  }
  AsGradientOf(label_, [&] {
    pk_instance view = forward.View(inputs, outputs);
    if (name) view.name = name;
    PlannedGradient plan = RecordGradient(forward.op(), view);
    reads_ = FindReads(plan, inputs, outputs);
    for (PlannedOp& planned : plan.ops) AddStep(std::move(planned), numbers);
    for (const auto& [input, blob] : plan.bindings) {
      const auto& [argument, index] = input;
      const int at = FindTensor(inputs, argument, index);
      if (at < 0) {
        Fail(kDefinitionError, "it binds the gradient of '", argument, "' ", index,
             ", which is not an input of the op");
      }
      bound_[at] = static_cast<int>(Find(*numbers, blob, Join("the gradient of '", argument, "'")));
    }
  });
}

void GradientPlan::FailMissing(size_t tensor) const {
  Fail(kPykernelsError, "the gradient of op '", label_, "' needs '", forward_blobs_[tensor], "', which was not kept");
}

size_t GradientPlan::Find(const Numbers& numbers, const std::string& blob, const std::string& user) {
  const auto found = numbers.find(blob);
  if (found == numbers.end()) {
    Fail(kDefinitionError, user, " uses '", blob,
         "', which is neither a tensor of the forward pass nor an output of an earlier op");
  }
  return found->second;
}

void GradientPlan::AddStep(PlannedOp planned, Numbers* numbers) {
  Step step;
  step.op = FindOp(planned.type);
  const pk_op& op = step.op->declared();
  std::vector<pk_attr> attributes;
  for (const auto& value : planned.attributes) attributes.push_back(value->get());
  step.attributes = Attributes::Fill(op, planned.type, attributes);
  step.input_counts = CountInputs(planned, op);
  step.output_counts = CountOutputs(planned, op);
  for (int32_t i = 0; i < op.n_inputs; ++i) {
    for (const auto& [argument, blob] : planned.inputs) {
      if (argument != op.inputs[i].name) continue;
      step.inputs.push_back(Find(*numbers, blob, Join("op type '", planned.type, "'")));
    }
  }
  step.first_output = n_tensors_;
  for (int32_t i = 0; i < op.n_outputs; ++i) {
    for (int32_t k = 0; k < step.output_counts[i]; ++k) {
      if (!numbers->emplace(Join(planned.name, "/", op.outputs[i].name, "_", k), n_tensors_++).second) {
        Fail(kDefinitionError, "two of its ops are called '", planned.name, "'");
      }
    }
  }
  step.n_outputs = n_tensors_ - step.first_output;
  step.name = std::move(planned.name);
  step.type = std::move(planned.type);
  steps_.push_back(std::move(step));
}

bool GradientPlan::IsNeeded(const Step& step, const std::vector<bool>& needed) {
  const auto first = needed.begin() + static_cast<ptrdiff_t>(step.first_output);
  return std::any_of(first, first + static_cast<ptrdiff_t>(step.n_outputs), [](bool is) { return is; });
}

void GradientPlan::Trace(std::vector<bool>* needed) const {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (!IsNeeded(*step, *needed)) continue;
    for (size_t input : step->inputs) (*needed)[input] = true;
  }
}

}  // namespace pykernels
