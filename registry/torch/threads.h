// PyTorch's threads between operations, for kernels that can be cut.
#ifndef PYKERNELS_REGISTRY_TORCH_THREADS_H_
#define PYKERNELS_REGISTRY_TORCH_THREADS_H_

namespace pykernels::torch_ops {

void UseThreads();

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_THREADS_H_
