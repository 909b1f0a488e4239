// One call of an op in a compiled program.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "../host/specialization.h"
#include "headers.h"

namespace pykernels::jax {

// XLA makes it with the program and keeps it as long as the program. Shapes are part of the program, so a call runs one
// kernel. Several threads may run it at the same time.
class Call {
 public:
  // XLA's number for this type.
  static inline ffi::TypeId id = {};

  Call(const std::string& op_type, const Attributes::Strings& attributes, const std::vector<int32_t>& input_counts,
       const std::vector<int32_t>& output_counts, bool is_train);

  // Runs the kernel. The results are the outputs, then the inputs that the kernel changes in place: XLA has copied
  // those into their results.
  void Run(const ffi::RemainingArgs& args, const ffi::RemainingRets& results, const ffi::ThreadPool& threads) const;

 private:
  // A kernel with everything that it needs besides the buffers.
  struct Prepared {
    std::shared_ptr<const Specialization> specialization;
    const pk_kernel& kernel;
    std::vector<pk_scalar> scalars;
    int64_t n_elements;
  };

  const Prepared& Prepare(const ffi::RemainingArgs& args, const ffi::RemainingRets& results) const;
  void RequireInferred(const Specialization& made, const ffi::RemainingRets& results) const;
  void RunOn(const Prepared& prepared, void** data) const;

  const Instance instance_;
  const size_t n_plain_inputs_;
  const size_t n_outputs_;
  const bool is_train_;
  mutable Mutex mutex_;
  mutable std::unique_ptr<const Prepared> owned_;
  mutable std::atomic<const Prepared*> prepared_{nullptr};
};

}  // namespace pykernels::jax
