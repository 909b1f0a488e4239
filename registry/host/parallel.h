// Runs a kernel in pieces on the framework's threads. The library has no threads of its own.
#pragma once

#include <pykernels/kernel.h>

#include <cstdint>

namespace pykernels {

// The functions that a framework provides.
struct ThreadPool {
  // Returns how many threads the calling thread may use, including itself.
  int (*count)();
  // Calls `run(context, i)` for every i in [0, n), in parallel where possible, and waits for all.
  void (*for_each)(int n, void (*run)(void* context, int i), void* context);
};

// Sets the pool before the first op runs. Without a pool, everything runs on the calling thread.
void SetThreadPool(const ThreadPool& pool);

// Returns whether this process is a fork of the one that set the pool, and so lacks its threads.
bool IsForked();

// Kernels with fewer elements than this are never split.
constexpr int64_t kFewestToCut = int64_t{1} << 15;

// Runs a kernel on `n_elements` elements of its first output, in pieces if it can be split and that is faster. Returns
// the status and the detail of the first piece that failed.
int32_t RunKernel(const pk_kernel& kernel, void* const* data, const int64_t* dims, const pk_scalar* scalars,
                  int64_t n_elements, int64_t* detail);

}  // namespace pykernels
