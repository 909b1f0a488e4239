// Runs kernels that can be split on PyTorch's intra-op threads.
#ifndef PYKERNELS_REGISTRY_TORCH_THREADS_H_
#define PYKERNELS_REGISTRY_TORCH_THREADS_H_

namespace pykernels::torch_ops {

void UseThreads();

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_THREADS_H_
