// The interpreter of gradient plans: which ops compute the gradients of an op's inputs, and from which tensors.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attributes.h"
#include "error.h"
#include "gradient.h"
#include "instance.h"

namespace pykernels {

// A gradient plan that several threads may use at the same time. Tensors have numbers: first the inputs of the forward
// pass, then its outputs, then the gradients of those outputs, then what the steps compute.
class GradientPlan {
 public:
  // One call of an op, or the sum of its inputs: then `op` is null, and the type of its output is that of `like`.
  struct Step {
    std::string name;  // unique within the plan
    std::string type;
    std::shared_ptr<const Op> op;
    size_t like = 0;  // a tensor number
    Attributes attributes;
    std::vector<int32_t> input_counts;  // per argument
    std::vector<int32_t> output_counts;
    std::vector<size_t> inputs;  // tensor numbers, in the order of the arguments
    size_t first_output;         // a tensor number; the other outputs follow
    size_t n_outputs;
  };

  // Makes the plan for tensors of known or unknown types. The names of the steps begin with `name`, which stands for
  // this use of the op; it defaults to the op's name. Throws if there is no plan. An op declared to need no gradient
  // has an empty plan.
  GradientPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs, const char* name = nullptr);

  // Makes the plan for the gradient of a gradient. Its inputs are the tensors of the forward pass of `first`, and its
  // outputs are the gradients that `first` computes; it does not read these. `gradient_of` returns the plan for the
  // step of `first` at a position, or throws.
  GradientPlan(const GradientPlan& first, const std::function<const GradientPlan&(size_t)>& gradient_of);

  const std::vector<Step>& steps() const { return steps_; }
  size_t first_output() const { return n_inputs_; }
  size_t first_gradient() const { return n_inputs_ + n_outputs_; }
  // Which tensors of the forward pass the plan reads.
  const Dependencies& reads() const { return reads_; }
  bool IsBound(size_t input) const { return bound_[input] >= 0; }
  // Returns the number of the gradient of a bound input.
  size_t gradient(size_t input) const { return static_cast<size_t>(bound_[input]); }

  // Throws an error for a tensor of the forward pass that the plan reads but that is missing.
  [[noreturn]] void FailMissing(size_t tensor) const;

  // Computes the gradients of the inputs for which `is_wanted` is true and leaves the others empty. Tensors can be of
  // any kind: `List` is a vector of them. `forward` returns a tensor of the forward pass by its number. `run_step` runs
  // the step at a position: it reads the step's inputs from a List by their numbers and stores its outputs there.
  template <typename List, typename IsWanted, typename Forward, typename RunStep>
  std::vector<typename List::value_type> Run(const IsWanted& is_wanted, const Forward& forward,
                                             const RunStep& run_step) const {
    bool are_all_wanted = true;
    for (size_t i = 0; i < n_inputs_; ++i) are_all_wanted &= !IsBound(i) || is_wanted(i);
    const std::vector<bool> found = are_all_wanted ? std::vector<bool>() : FindNeeded(is_wanted);
    const std::vector<bool>& needed = are_all_wanted ? needed_for_all_ : found;
    List tensors(n_tensors_);
    for (size_t i = 0; i < first_gradient() + n_outputs_; ++i) {
      if (needed[i]) tensors[i] = forward(i);
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (IsNeeded(steps_[i], needed)) run_step(i, &tensors);
    }
    std::vector<typename List::value_type> gradients(n_inputs_);
    for (size_t i = 0; i < n_inputs_; ++i) {
      if (IsBound(i) && is_wanted(i)) gradients[i] = tensors[gradient(i)];
    }
    return gradients;
  }

 private:
  using Numbers = std::map<std::string, size_t>;

  void Record(const Instance& forward, const Tensors& inputs, const Tensors& outputs, const char* name,
              Numbers* numbers);
  static size_t Find(const Numbers& numbers, const std::string& blob, const std::string& user);
  void AddStep(PlannedOp planned, Numbers* numbers);
  // Adds a step of another plan, whose tensors have the given numbers here, and appends the numbers of its outputs.
  void Inline(const Step& step, std::vector<size_t>* numbers);
  // Returns the number of the sum of some tensors.
  size_t AddSum(const std::vector<size_t>& tensors, size_t like);
  static bool IsNeeded(const Step& step, const std::vector<bool>& needed);
  // Marks the tensors that the needed ones are computed from.
  void Trace(std::vector<bool>* needed) const;

  template <typename IsWanted>
  std::vector<bool> FindNeeded(const IsWanted& is_wanted) const {
    std::vector<bool> needed(n_tensors_);
    for (size_t i = 0; i < n_inputs_; ++i) {
      if (IsBound(i) && is_wanted(i)) needed[gradient(i)] = true;
    }
    Trace(&needed);
    return needed;
  }

  const std::string label_;
  const std::vector<std::string> forward_blobs_;
  const size_t n_inputs_;
  const size_t n_outputs_;
  size_t n_tensors_;
  std::vector<Step> steps_;
  std::vector<int> bound_;  // for every input the number of its gradient, or -1
  Dependencies reads_;
  std::vector<bool> needed_for_all_;
};

// Calls `body` and reports any error as one in the gradient of the op `label`.
template <typename Body>
void AsGradientOf(const std::string& label, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    Fail(kDefinitionError, "the gradient of op '", label, "': ", error.what());
  }
}

}  // namespace pykernels
