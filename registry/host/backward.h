// Runs a gradient plan with our own kernels, on buffers of tensors with given dtypes and shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execute.h"
#include "gradient_plan.h"
#include "instance.h"
#include "lazy.h"

namespace pykernels {

class BackwardPlan {
 public:
  BackwardPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs);

  const std::string& label() const { return label_; }
  const GradientPlan& plan() const { return plan_; }
  // The types of all tensors of the plan.
  const Tensors& types() const { return types_; }

  // Returns the gradient of this pass, planned at the first call. Its forward pass is this pass: its inputs are the
  // tensors of the forward pass, in order, and its outputs are the gradients. Throws if a step has no gradient.
  const BackwardPlan& Backward() const;

  // Resolves the kernels of all steps, so that errors in them appear now.
  void Resolve() const;

  void Run(const ForwardBuffers& buffers, const std::vector<Target>& input_gradients, bool is_train) const;

 private:
  // Empty for a sum.
  struct Step {
    std::shared_ptr<const Instance> instance;
    std::shared_ptr<const Specialization> specialization;
  };

  BackwardPlan(std::string label, GradientPlan plan, Tensors types);

  void SpecializeAll();
  void Specialize(const GradientPlan::Step& planned);
  void CheckGradients(const Instance& forward) const;
  // Returns where to compute a tensor: the buffer of its target if no needed tensor overlaps it, otherwise scratch
  // memory.
  void* Place(size_t tensor, const std::vector<Target>& targets, const std::vector<void*>& buffers,
              Scratch* scratch) const;

  std::string label_;
  GradientPlan plan_;
  Tensors types_;  // all tensors of the plan
  std::vector<Step> steps_;
  Lazy<BackwardPlan> backward_;
};

}  // namespace pykernels
