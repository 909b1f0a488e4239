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

// Lists the tensors of the forward pass of a gradient's gradient, from those of the gradient's.
std::vector<std::string> BlobsOfGradient(const std::vector<std::string>& forward, size_t n_inputs) {
  std::vector<std::string> blobs = forward;
  for (const char* kind : {"the gradient of ", "the gradient of the gradient of "}) {
    for (size_t i = 0; i < n_inputs; ++i) blobs.push_back(kind + forward[i]);
  }
  return blobs;
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
    Fail(kDefinitionError, DescribeMissingGradient(forward.op(), label_));
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

GradientPlan::GradientPlan(const GradientPlan& first, const std::function<const GradientPlan&(size_t)>& gradient_of)
    : label_(first.label_),
      forward_blobs_(BlobsOfGradient(first.forward_blobs_, first.n_inputs_)),
      n_inputs_(first.forward_blobs_.size()),
      n_outputs_(first.n_inputs_),
      n_tensors_(forward_blobs_.size()),
      bound_(n_inputs_, -1) {
  // What the first pass computes, it computes anew: MXNet may not have asked for all of its results.
  std::vector<size_t> numbers;
  for (size_t i = 0; i < n_inputs_; ++i) numbers.push_back(i);
  for (const Step& step : first.steps_) Inline(step, &numbers);
  // What adds up to the gradient of each tensor of the first pass.
  std::vector<std::vector<size_t>> parts(first.n_tensors_);
  for (size_t i = 0; i < n_outputs_; ++i) {
    if (first.IsBound(i)) parts[first.gradient(i)].push_back(first_gradient() + i);
  }
  for (size_t at = first.steps_.size(); at-- > 0;) {
    const Step& step = first.steps_[at];
    const auto outputs = parts.begin() + static_cast<ptrdiff_t>(step.first_output);
    const auto end = outputs + static_cast<ptrdiff_t>(step.n_outputs);
    if (std::all_of(outputs, end, [](const std::vector<size_t>& each) { return each.empty(); })) continue;
    // The tensors of the plan for the step: its inputs, its outputs and their gradients; what it computes follows.
    std::vector<size_t> inner;
    for (size_t input : step.inputs) inner.push_back(numbers[input]);
    for (size_t i = 0; i < step.n_outputs; ++i) inner.push_back(numbers[step.first_output + i]);
    for (size_t i = 0; i < step.n_outputs; ++i) inner.push_back(AddSum(outputs[i], numbers[step.first_output + i]));
    if (!step.op) {
      for (size_t input : step.inputs) parts[input].push_back(inner.back());
      continue;
    }
    const GradientPlan& second = gradient_of(at);
    for (const Step& each : second.steps_) Inline(each, &inner);
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (second.IsBound(i)) parts[step.inputs[i]].push_back(inner[second.gradient(i)]);
    }
  }
  for (size_t i = 0; i < n_inputs_; ++i) {
    if (!parts[i].empty()) bound_[i] = static_cast<int>(AddSum(parts[i], i));
  }
  needed_for_all_ = FindNeeded([](size_t) { return true; });
  reads_ = Divide(needed_for_all_, n_inputs_, n_outputs_);
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

void GradientPlan::Inline(const Step& step, std::vector<size_t>* numbers) {
  Step added = step;
  added.name = Join(step.name, "_", n_tensors_);
  added.like = (*numbers)[step.like];
  for (size_t& input : added.inputs) input = (*numbers)[input];
  added.first_output = n_tensors_;
  for (size_t i = 0; i < step.n_outputs; ++i) numbers->push_back(n_tensors_++);
  steps_.push_back(std::move(added));
}

size_t GradientPlan::AddSum(const std::vector<size_t>& tensors, size_t like) {
  if (tensors.size() == 1) return tensors.front();
  Step sum;
  sum.name = Join("sum_", n_tensors_);
  sum.like = like;
  sum.inputs = tensors;
  sum.first_output = n_tensors_++;
  sum.n_outputs = 1;
  steps_.push_back(std::move(sum));
  return steps_.back().first_output;
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
