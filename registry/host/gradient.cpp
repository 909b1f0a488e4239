#include "gradient.h"

#include <cstdlib>

#include "error.h"

namespace pykernels {
namespace {

PlannedGradient* Plan(void* user) { return static_cast<PlannedGradient*>(user); }

void OnOp(void* user, const char* name, const char* type) {
  PlannedOp op;
  op.name = name;
  op.type = type;
  Plan(user)->ops.push_back(std::move(op));
}

void OnInput(void* user, const char* argument, const char* blob) {
  Plan(user)->ops.back().inputs.emplace_back(argument, blob);
}

void OnOutput(void* user, const char* argument, int32_t count) {
  Plan(user)->ops.back().outputs.emplace_back(argument, count);
}

void OnAttribute(void* user, const pk_attr* attribute) {
  Plan(user)->ops.back().attributes.push_back(std::make_unique<AttributeValue>(*attribute));
}

void OnBind(void* user, const char* argument, int32_t index, const char* blob) {
  Plan(user)->bindings[{argument, index}] = blob;
}

// An op with these arguments always has the same number of tensors, so that a plan cannot depend on their number.
bool HasFixedArguments(const pk_argument* arguments, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    if (arguments[i].variadic || arguments[i].optional) return false;
  }
  return true;
}

void Mark(const std::string& name, const Tensors& inputs, const Tensors& outputs, Dependencies* needed) {
  const ForwardBlob blob = ParseForwardBlob(name);
  if (blob.kind == ForwardBlob::kNone) return;
  const int at = FindTensor(blob.kind == ForwardBlob::kInput ? inputs : outputs, blob.argument, blob.index);
  if (at < 0) Fail(kDefinitionError, "there is no ", name);
  if (blob.kind == ForwardBlob::kInput) needed->inputs[at] = true;
  if (blob.kind == ForwardBlob::kOutput) needed->outputs[at] = true;
  if (blob.kind == ForwardBlob::kOutputGradient) needed->output_gradients[at] = true;
}

Dependencies AllOrNone(const Tensors& inputs, const Tensors& outputs, bool all) {
  return {std::vector<bool>(inputs.size(), all), std::vector<bool>(outputs.size(), all),
          std::vector<bool>(outputs.size(), all)};
}

}  // namespace

PlannedGradient RecordGradient(const Op& op, const pk_instance& forward) {
  PlannedGradient plan;
  op.PlanGradient(forward, {&plan, OnOp, OnInput, OnOutput, OnAttribute, OnBind, nullptr});
  return plan;
}

ForwardBlob ParseForwardBlob(const std::string& name) {
  ForwardBlob blob;
  const size_t last = name.rfind('/');
  if (name.size() < 5 || name[1] != '/' || last < 3) return blob;
  switch (name[0]) {
    case 'I': blob.kind = ForwardBlob::kInput; break;
    case 'O': blob.kind = ForwardBlob::kOutput; break;
    case 'D': blob.kind = ForwardBlob::kOutputGradient; break;
    default: return blob;
  }
  blob.argument = name.substr(2, last - 2);
  blob.index = std::atoi(name.c_str() + last + 1);
  return blob;
}

Dependencies FindDependencies(const Op& op, const std::vector<pk_attr>& attributes, const Tensors& inputs,
                              const Tensors& outputs) {
  if (!op.has_gradient()) return AllOrNone(inputs, outputs, false);
  const pk_op& declared = op.declared();
  if (!HasFixedArguments(declared.inputs, declared.n_inputs) ||
      !HasFixedArguments(declared.outputs, declared.n_outputs)) {
    return AllOrNone(inputs, outputs, true);
  }
  pk_instance unknown{};
  unknown.name = declared.name;
  unknown.n_attrs = static_cast<int32_t>(attributes.size());
  unknown.attrs = attributes.data();
  unknown.parallel_num = 1;
  try {
    const PlannedGradient plan = RecordGradient(op, unknown);
    Dependencies needed = AllOrNone(inputs, outputs, false);
    for (const PlannedOp& planned : plan.ops) {
      for (const auto& [argument, blob] : planned.inputs) Mark(blob, inputs, outputs, &needed);
    }
    for (const auto& [input, blob] : plan.bindings) Mark(blob, inputs, outputs, &needed);
    return needed;
  } catch (const Error&) {
    // The plan depends on shapes, or it is wrong, which is told when it is made for the real ones.
    return AllOrNone(inputs, outputs, true);
  }
}

}  // namespace pykernels
