#include "instance.h"

#include <algorithm>

#include "error.h"
#include "specialization.h"

namespace pykernels {
namespace {

// How many specializations an instance caches, and how many instances a cache holds.
constexpr size_t kMostSpecializations = 32;
constexpr size_t kMostInstances = 1024;

std::string CacheKey(const std::string& label, const Attributes::Strings& attributes, const TensorCount& inputs,
                     const TensorCount& outputs) {
  std::string key = label;
  for (const auto& [name, text] : attributes) {
    key.push_back('\0');
    key += name;
    key.push_back('\0');
    key += text;
  }
  key.push_back('\0');
  return key + inputs.Text() + "," + outputs.Text();
}

size_t CountStates(const pk_op& op, const std::vector<int32_t>& input_counts) {
  size_t states = 0;
  for (int32_t i = 0; i < op.n_inputs; ++i) states += op.inputs[i].is_mutable ? input_counts[i] : 0;
  return states;
}

}  // namespace

Instance::Instance(std::shared_ptr<const Op> op, std::string label, Attributes attributes,
                   const std::vector<int32_t>& input_counts, const std::vector<int32_t>& output_counts)
    : op_(std::move(op)),
      label_(std::move(label)),
      attributes_(std::move(attributes)),
      blank_inputs_(BlankTensors(op_->declared().inputs, input_counts)),
      blank_outputs_(BlankTensors(op_->declared().outputs, output_counts)),
      input_names_(NameTensors(op_->declared().inputs, input_counts)),
      output_names_(NameTensors(op_->declared().outputs, output_counts)),
      n_states_(CountStates(op_->declared(), input_counts)),
      dependencies_(FindDependencies(*op_, attributes_.values(), blank_inputs_, blank_outputs_)),
      accepted_(blank_inputs_) {}

pk_instance Instance::View(const Tensors& inputs, const Tensors& outputs) const {
  pk_instance view{};
  view.name = op_->name();
  view.n_inputs = static_cast<int32_t>(inputs.size());
  view.n_outputs = static_cast<int32_t>(outputs.size());
  view.n_attrs = static_cast<int32_t>(attributes().size());
  view.inputs = const_cast<pk_tensor*>(inputs.data());
  view.outputs = const_cast<pk_tensor*>(outputs.data());
  view.attrs = attributes().data();
  view.parallel_num = 1;
  return view;
}

std::shared_ptr<const Specialization> Instance::Specialize(const Tensors& inputs) const {
  std::shared_ptr<const Specialization> found =
      FindRecent([&](const Tensors& known) { return SameTypes(known, inputs); });
  if (found) return found;
  RequireSupportedDtypes(inputs, input_names_);
  Tensors completed = inputs;
  Tensors outputs = blank_outputs_;
  try {
    Infer(&completed, &outputs);
    RequireComplete(outputs);
  } catch (const Error& error) {
    FailInference(inputs, error.what());
  }
  RequireSupportedDtypes(outputs, output_names_);
  found = std::make_shared<const Specialization>(*this, inputs, outputs);
  Remember(found);
  RememberShapes(inputs);
  return found;
}

const Tensors& Instance::InputsOf(const Specialization& known) { return known.inputs(); }

void Instance::Remember(std::shared_ptr<const Specialization> made) const {
  std::lock_guard lock(mutex_);
  if (recent_.size() == kMostSpecializations) recent_.erase(recent_.begin());
  recent_.push_back(std::move(made));
}

void Instance::RememberShapes(const Tensors& inputs) const {
  std::lock_guard lock(mutex_);
  accepted_ = inputs;
}

Tensors Instance::AcceptedShapes() const {
  std::lock_guard lock(mutex_);
  return accepted_;
}

std::shared_ptr<const Instance> InstanceCache::Get(const std::shared_ptr<const Op>& op, const std::string& label,
                                                   const Attributes::Strings& attributes,
                                                   const TensorCount& inputs, const TensorCount& outputs) {
  const std::string key = CacheKey(label, attributes, inputs, outputs);
  {
    std::lock_guard lock(mutex_);
    const auto found = instances_.find(key);
    if (found != instances_.end() && &found->second->op() == op.get()) return found->second;
  }
  const pk_op& declared = op->declared();
  auto made = std::make_shared<const Instance>(
      op, label, Attributes::Parse(declared, label, attributes),
      DistributeTensors(declared.inputs, declared.n_inputs, inputs, label, "inputs"),
      DistributeTensors(declared.outputs, declared.n_outputs, outputs, label, "outputs"));
  std::lock_guard lock(mutex_);
  if (instances_.size() == kMostInstances) instances_.clear();
  instances_[key] = made;
  return made;
}

}  // namespace pykernels
