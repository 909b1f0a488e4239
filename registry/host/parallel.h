// Runs a kernel in pieces on the threads of the framework. We have none of our own.
#ifndef PYKERNELS_REGISTRY_HOST_PARALLEL_H_
#define PYKERNELS_REGISTRY_HOST_PARALLEL_H_

#include <pykernels/kernel.h>

#include <cstdint>

namespace pykernels {

// What a framework offers.
struct ThreadPool {
  // How many threads the calling thread may use, itself among them.
  int (*count)();
  // Calls `run(context, i)` for every i of [0, n), at the same time where it can, and waits for all.
  void (*for_each)(int n, void (*run)(void* context, int i), void* context);
};

// Set before the first op runs; without one everything runs on the thread that asks for it.
void SetThreadPool(const ThreadPool& pool);

// Kernels that compute fewer elements than this are never cut.
constexpr int64_t kFewestToCut = int64_t{1} << 15;

// Runs a kernel on `n_elements` elements of its first output: in pieces if it can be cut, and it is worth the while.
// Returns the status, and the detail, of the first piece that failed.
int32_t RunKernel(const pk_kernel& kernel, void* const* data, const int64_t* dims, const pk_scalar* scalars,
                  int64_t n_elements, int64_t* detail);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_PARALLEL_H_
