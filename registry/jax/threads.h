// Lends the threads of an XLA program to the kernels that it calls.
#pragma once

#include "headers.h"

namespace pykernels::jax {

// Lets the kernels that this thread runs in a scope use these threads.
class LentThreads {
 public:
  explicit LentThreads(const ffi::ThreadPool& threads);
  ~LentThreads();
  LentThreads(const LentThreads&) = delete;
  LentThreads& operator=(const LentThreads&) = delete;
};

}  // namespace pykernels::jax
