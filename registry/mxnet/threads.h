// MXNet's threads for parallel loops: those of the OpenMP library that it is linked with.
#pragma once

#include <cstdint>

namespace pykernels::mxnet {

// Addresses in libmxnet and in GNU's OpenMP library.
struct ThreadSymbols {
  void* (*GetOpenMP)();                                            // mxnet::engine::OpenMP::Get()
  int (*GetRecommendedThreadCount)(const void* self, bool exclude);  // its GetRecommendedOMPThreadCount(bool) const
  void (*GompParallel)(void (*run)(void* data), void* data, unsigned n_threads, unsigned flags);
  int (*GetThreadNumber)();
  int (*GetTeamSize)();
};

// Runs kernels that can be divided on as many threads as MXNet's own operators would use.
void UseThreads(const ThreadSymbols& symbols);

}  // namespace pykernels::mxnet
