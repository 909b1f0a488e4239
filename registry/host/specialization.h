// An instance for tensors of given dtypes and shapes: which kernel to run, and with which numbers.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "instance.h"
#include "lazy.h"

namespace pykernels {

class BackwardPlan;

// Safe to use from several threads at the same time.
class Specialization {
 public:
  Specialization(const Instance& instance, Tensors inputs, Tensors outputs);

  const Instance& instance() const { return instance_; }
  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }

  // Returns the kernel, resolved at the first call together with its arguments other than the buffers.
  const pk_kernel& Kernel() const;
  const std::vector<int64_t>& dims() const { return dims_; }
  std::vector<pk_scalar> Scalars(const pk_kernel& kernel, bool is_train) const;

  // Runs the kernel. `data` holds the buffers of the inputs, then of the outputs; none is null, and no output overlaps
  // another buffer. Throws the text of pk_services.explain if the kernel fails, and plain NumPy as well.
  void Run(const std::vector<void*>& data, bool is_train) const;

  // Throws the text of pk_services.explain for a kernel that returned `status`, unless plain NumPy does not fail.
  void HandleFailure(int32_t status, void* const* data, const pk_scalar* scalars, const int64_t* detail) const;

  // Returns the backward pass, planned at the first call. Throws if the op has no gradient or its plan cannot run.
  const BackwardPlan& Backward() const;

 private:
  const Instance& instance_;
  const Tensors inputs_;
  const Tensors outputs_;
  std::vector<int64_t> dims_;
  mutable std::atomic<const pk_kernel*> kernel_{nullptr};
  Lazy<BackwardPlan> backward_;
};

}  // namespace pykernels
