// OneFlow's own threads for loops.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_

namespace pykernels::oneflow {

// Has kernels that can be cut run on these threads.
void UseThreads();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_
