#include "gradient.h"

#include <set>

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

// Returns whether each argument stands for a fixed number of tensors, so that a plan cannot depend on that number.
bool HasFixedArguments(const pk_argument* arguments, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    if (arguments[i].variadic || arguments[i].optional) return false;
  }
  return true;
}

Dependencies AllOrNone(const Tensors& inputs, const Tensors& outputs, bool all) {
  return {std::vector<bool>(inputs.size(), all), std::vector<bool>(outputs.size(), all),
          std::vector<bool>(outputs.size(), all)};
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::string DescribeMissingGradient(const Op& op, const std::string& label) {
  const std::string name = op.name();
  std::string text = Join("op '", label, "' has no gradient: its definition registers none for '", name, "'");
  if (!EndsWith(name, "_backward") || EndsWith(name, "_backward_backward")) return text;
  const std::string file = op.declared().file;
  return Join(text, "; where it can be derived, `python -m pykernels derive --second ",
              file.substr(0, file.find_last_of('/')), "` writes it");
}

PlannedGradient RecordGradient(const Op& op, const pk_instance& forward) {
  PlannedGradient plan;
  op.PlanGradient(forward, {&plan, OnOp, OnInput, OnOutput, OnAttribute, OnBind, nullptr});
  return plan;
}

std::vector<std::string> ForwardBlobs(const Tensors& inputs, const Tensors& outputs) {
  std::vector<std::string> blobs;
  const auto append = [&](const char* kind, const Tensors& tensors) {
    for (const pk_tensor& tensor : tensors) blobs.push_back(Join(kind, tensor.argument, "/", tensor.index));
  };
  append("I/", inputs);
  append("O/", outputs);
  append("D/", outputs);
  return blobs;
}

Dependencies Divide(const std::vector<bool>& reads, size_t n_inputs, size_t n_outputs) {
  const auto first_output = reads.begin() + static_cast<ptrdiff_t>(n_inputs);
  const auto first_gradient = first_output + static_cast<ptrdiff_t>(n_outputs);
  const auto end = first_gradient + static_cast<ptrdiff_t>(n_outputs);
  return {{reads.begin(), first_output}, {first_output, first_gradient}, {first_gradient, end}};
}

Dependencies FindReads(const PlannedGradient& plan, const Tensors& inputs, const Tensors& outputs) {
  std::set<std::string> read;
  for (const PlannedOp& planned : plan.ops) {
    for (const auto& [argument, blob] : planned.inputs) read.insert(blob);
  }
  for (const auto& [input, blob] : plan.bindings) read.insert(blob);
  std::vector<bool> reads;
  for (const std::string& blob : ForwardBlobs(inputs, outputs)) reads.push_back(read.count(blob) > 0);
  return Divide(reads, inputs.size(), outputs.size());
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
    return FindReads(RecordGradient(op, unknown), inputs, outputs);
  } catch (const Error&) {
    // The plan depends on shapes, or it is wrong; making it for the real shapes reports the error.
    return AllOrNone(inputs, outputs, true);
  }
}

}  // namespace pykernels
