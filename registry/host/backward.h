// Runs a gradient plan with our own kernels, on buffers of tensors with given dtypes and shapes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execute.h"
#include "gradient_plan.h"
#include "instance.h"

namespace pykernels {

class BackwardPlan {
 public:
  BackwardPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs);

  const GradientPlan& plan() const { return plan_; }

  // Resolves the kernels of all steps, so that errors in them appear now.
  void Resolve() const;

  void Run(const ForwardBuffers& buffers, const std::vector<Target>& input_gradients, bool is_train) const;

 private:
  struct Step {
    std::shared_ptr<const Instance> instance;
    std::shared_ptr<const Specialization> specialization;
  };

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
};

}  // namespace pykernels
