// One use of an op: its attributes, the number of its tensors, and inference for the tensors that it receives.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "attributes.h"
#include "gradient.h"
#include "mutex.h"
#include "op.h"
#include "tensors.h"

namespace pykernels {

class Specialization;

class Instance {
 public:
  // `label` is the user's name for the op in messages; the counts are per argument, as from DistributeTensors.
  Instance(std::shared_ptr<const Op> op, std::string label, Attributes attributes,
           const std::vector<int32_t>& input_counts, const std::vector<int32_t>& output_counts);

  const Op& op() const { return *op_; }
  const std::string& label() const { return label_; }
  const std::vector<pk_attr>& attributes() const { return attributes_.values(); }

  // The names of all tensors; an argument that may be repeated has "x_0", "x_1".
  const std::vector<std::string>& input_names() const { return input_names_; }
  const std::vector<std::string>& output_names() const { return output_names_; }

  // Which tensors of the forward pass the gradient needs.
  const Dependencies& dependencies() const { return dependencies_; }

  // How many of the last inputs the kernel changes in place.
  size_t n_states() const { return n_states_; }

  // Tensors with only their argument set.
  const Tensors& blank_inputs() const { return blank_inputs_; }
  const Tensors& blank_outputs() const { return blank_outputs_; }

  // Returns "x: float32 (2, 3), y: float32 (3,)".
  std::string DescribeInputs(const Tensors& inputs) const;

  // Returns the C ABI's view of this instance with these tensors, which must outlive the view.
  pk_instance View(const Tensors& inputs, const Tensors& outputs) const;

  // Infers the shapes of the outputs and leaves unknown what the known inputs do not determine. Completes the inputs if
  // PK_OP_INFERS_INPUTS is set. Ignores dtypes.
  void InferShapes(Tensors* inputs, Tensors* outputs) const;

  // Infers the dtypes of the outputs. An input of unknown dtype takes the dtype that the definition completes,
  // otherwise that of the first input that has one; if none has, all stay unknown. Ignores shapes.
  void InferDtypes(Tensors* inputs, Tensors* outputs) const;

  // Throws if an output has complex numbers, for a framework that has no tensors of them.
  void RefuseComplex(const Tensors& outputs, const char* framework) const;

  // Returns the newest specialization whose inputs match, or null.
  template <typename Match>
  std::shared_ptr<const Specialization> FindRecent(const Match& match) const {
    std::lock_guard lock(mutex_);
    for (auto known = recent_.rbegin(); known != recent_.rend(); ++known) {
      if (match(InputsOf(**known))) return *known;
    }
    return nullptr;
  }

  // Returns this instance for inputs of known dtypes and shapes. The instance must outlive the result.
  std::shared_ptr<const Specialization> Specialize(const Tensors& inputs) const;

 private:
  // Runs the definition's inference of shapes and dtypes together.
  void Infer(Tensors* inputs, Tensors* outputs) const;
  // Lets the definition fill in unknown shapes of inputs.
  void CompleteShapes(Tensors* inputs, Tensors* outputs) const;
  // Infers what it can of the outputs from inputs of known rank with unknown dimensions.
  void ProbeShapes(const Tensors& inputs, Tensors* outputs) const;
  // Infers shapes with guessed dtypes until the definition accepts some.
  void InferWithAnyDtypes(Tensors* inputs, Tensors* outputs) const;
  [[noreturn]] void FailInference(const Tensors& inputs, const std::string& why) const;
  void RequireSupportedDtypes(const Tensors& tensors, const std::vector<std::string>& names) const;
  void RequireComplete(const Tensors& outputs) const;

  static const Tensors& InputsOf(const Specialization& known);
  void Remember(std::shared_ptr<const Specialization> made) const;
  void RememberShapes(const Tensors& inputs) const;
  // Returns input shapes that inference has accepted; blank if there are none yet.
  Tensors AcceptedShapes() const;
  // Returns dtypes to try when shapes are inferred without dtypes, the likeliest first.
  std::vector<std::vector<int32_t>> GuessDtypes() const;

  std::shared_ptr<const Op> op_;
  std::string label_;
  Attributes attributes_;
  Tensors blank_inputs_;
  Tensors blank_outputs_;
  std::vector<std::string> input_names_;
  std::vector<std::string> output_names_;
  size_t n_states_;
  Dependencies dependencies_;

  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Specialization>> recent_;  // newest last
  mutable Tensors accepted_;
};

// A cache of instances by op and attribute texts, so that repeated attributes need no parsing.
class InstanceCache {
 public:
  std::shared_ptr<const Instance> Get(const std::shared_ptr<const Op>& op, const std::string& label,
                                      const Attributes::Strings& attributes, const TensorCount& inputs,
                                      const TensorCount& outputs);

 private:
  Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const Instance>> instances_;
};

}  // namespace pykernels
