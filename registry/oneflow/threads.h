// Runs loops on OneFlow's own threads.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_

namespace pykernels::oneflow {

// Makes kernels that can be split run on these threads.
void UseThreads();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_THREADS_H_
