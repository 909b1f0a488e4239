// What PyTorch's dispatcher calls of an op, one function for each dispatch key.
#ifndef PYKERNELS_REGISTRY_TORCH_KERNELS_H_
#define PYKERNELS_REGISTRY_TORCH_KERNELS_H_

#include "op.h"

namespace pykernels::torch_ops {

using Kernel = void (*)(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Runs the kernel on the CPU.
void RunOnCpu(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op and remembers what its gradient needs.
void RunAutograd(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op in float32 where autocast would have it computed with fewer bits.
void RunAutocast(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_KERNELS_H_
