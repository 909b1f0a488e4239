#include "backward.h"

#include <algorithm>
#include <cstring>

#include "error.h"
#include "specialization.h"

namespace pykernels {

BackwardPlan::BackwardPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs)
    : label_(forward.label()), plan_(forward, inputs, outputs), types_(inputs) {
  types_.insert(types_.end(), outputs.begin(), outputs.end());
  types_.insert(types_.end(), outputs.begin(), outputs.end());
  AsGradientOf(label_, [&] {
    SpecializeAll();
    CheckGradients(forward);
  });
}

BackwardPlan::BackwardPlan(std::string label, GradientPlan plan, Tensors types)
    : label_(std::move(label)), plan_(std::move(plan)), types_(std::move(types)) {
  SpecializeAll();
}

const BackwardPlan& BackwardPlan::Backward() const {
  return backward_.Get([&] {
    std::shared_ptr<const BackwardPlan> made;
    AsGradientOf(label_, [&] {
      GradientPlan plan(plan_, [&](size_t at) -> const GradientPlan& {
        return steps_[at].specialization->Backward().plan();
      });
      Tensors types(types_.begin(), types_.begin() + static_cast<ptrdiff_t>(plan.first_output()));
      // The results have the types of the inputs, and so have their gradients.
      for (int i = 0; i < 2; ++i) {
        types.insert(types.end(), types_.begin(), types_.begin() + static_cast<ptrdiff_t>(plan_.first_output()));
      }
      made.reset(new BackwardPlan(label_, std::move(plan), std::move(types)));
    });
    return made;
  });
}

void BackwardPlan::SpecializeAll() {
  for (const GradientPlan::Step& planned : plan_.steps()) Specialize(planned);
}

void BackwardPlan::Specialize(const GradientPlan::Step& planned) {
  Step step;
  if (!planned.op) {
    types_.push_back(types_[planned.like]);
    steps_.push_back(std::move(step));
    return;
  }
  step.instance = std::make_shared<const Instance>(
      planned.op, planned.type, Attributes::Fill(planned.op->declared(), planned.type, planned.attributes.values()),
      planned.input_counts, planned.output_counts);
  Tensors inputs = step.instance->blank_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].dtype = types_[planned.inputs[i]].dtype;
    CopyShape(types_[planned.inputs[i]], &inputs[i]);
  }
  step.specialization = step.instance->Specialize(inputs);
  const Tensors& outputs = step.specialization->outputs();
  types_.insert(types_.end(), outputs.begin(), outputs.end());
  steps_.push_back(std::move(step));
}

void BackwardPlan::CheckGradients(const Instance& forward) const {
  for (size_t i = 0; i < plan_.first_output(); ++i) {
    if (!plan_.IsBound(i)) continue;
    const pk_tensor& type = types_[plan_.gradient(i)];
    if (type.dtype == types_[i].dtype && SameShape(type, types_[i])) continue;
    Fail(kDefinitionError, "the gradient of '", forward.input_names()[i], "' is ", Describe(type),
         ", but the input is ", Describe(types_[i]));
  }
}

void BackwardPlan::Resolve() const {
  for (const Step& step : steps_) {
    if (step.specialization) step.specialization->Kernel();
  }
}

void* BackwardPlan::Place(size_t tensor, const std::vector<Target>& targets, const std::vector<void*>& buffers,
                          Scratch* scratch) const {
  const size_t bytes = CountBytes(types_[tensor]);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].request != Request::kWrite || !plan_.IsBound(i) || plan_.gradient(i) != tensor) continue;
    bool is_free = true;
    for (size_t t = 0; t < buffers.size(); ++t) {
      is_free = is_free && !(buffers[t] && Overlap(targets[i].data, bytes, buffers[t], CountBytes(types_[t])));
    }
    if (is_free) return targets[i].data;
  }
  return scratch->Allocate(bytes);
}

void BackwardPlan::Run(const ForwardBuffers& given, const std::vector<Target>& targets, bool is_train) const {
  Scratch scratch;
  const auto is_wanted = [&](size_t i) { return targets[i].request != Request::kNull; };
  const auto forward = [&](size_t i) {
    const void* data = i < plan_.first_output()     ? given.inputs[i]
                       : i < plan_.first_gradient() ? given.outputs[i - plan_.first_output()]
                                                    : given.output_gradients[i - plan_.first_gradient()];
    if (!data) plan_.FailMissing(i);
    return const_cast<void*>(data);
  };
  const auto run_step = [&](size_t at, std::vector<void*>* buffers) {
    const GradientPlan::Step& step = plan_.steps()[at];
    std::vector<void*> data;
    for (size_t input : step.inputs) data.push_back((*buffers)[input]);
    for (size_t i = step.first_output; i < step.first_output + step.n_outputs; ++i) {
      (*buffers)[i] = Place(i, targets, *buffers, &scratch);
      data.push_back((*buffers)[i]);
    }
    if (step.op) return steps_[at].specialization->Run(data, is_train);
    const pk_tensor& type = types_[step.first_output];
    std::memset(data.back(), 0, CountBytes(type));
    for (size_t i = 0; i < step.inputs.size(); ++i) Deliver(type, data[i], {data.back(), Request::kAdd});
  };
  const std::vector<void*> gradients = plan_.Run<std::vector<void*>>(is_wanted, forward, run_step);
  for (size_t i = 0; i < targets.size(); ++i) {
    const Target& target = targets[i];
    if (gradients[i]) {
      // A gradient computed in its target needs no copy.
      if (target.request != Request::kWrite || gradients[i] != target.data) Deliver(types_[i], gradients[i], target);
    } else if (target.request == Request::kWrite) {
      std::memset(target.data, 0, CountBytes(types_[i]));
    }
  }
}

}  // namespace pykernels
