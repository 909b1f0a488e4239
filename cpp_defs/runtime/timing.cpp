// Times calls of a kernel, and memory copies for comparison, with no other work in between.
#include <chrono>
#include <cstring>

#include "pykernels/kernel.h"

#define PK_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Clock = std::chrono::steady_clock;

// Volatile, so that the compiler neither removes nor inlines the copies.
void* (*volatile copy)(void*, const void*, size_t) = std::memcpy;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

// Returns the seconds that `calls` calls take, or -1 as soon as one fails.
PK_EXPORT double pk_time_kernel(const pk_kernel* kernel, void* const* data, const int64_t* dims,
                                const pk_scalar* scalars, int64_t elements, int64_t calls) {
  int64_t detail[PK_DETAIL_SIZE];
  const Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) {
    if (kernel->run(kernel, data, dims, scalars, 0, elements, detail) != PK_OK) return -1;
  }
  return SecondsSince(start);
}

PK_EXPORT double pk_time_copy(void* to, const void* from, size_t bytes, int64_t calls) {
  const Clock::time_point start = Clock::now();
  for (int64_t i = 0; i < calls; ++i) copy(to, from, bytes);
  return SecondsSince(start);
}
