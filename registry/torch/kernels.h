// What PyTorch's dispatcher calls of an op, one function for each dispatch key.
#ifndef PYKERNELS_REGISTRY_TORCH_KERNELS_H_
#define PYKERNELS_REGISTRY_TORCH_KERNELS_H_

#include "op.h"
#include "values.h"

namespace pykernels::torch_ops {

using Kernel = void (*)(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Runs the kernel on the CPU.
void RunOnCpu(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Makes what the op returns for tensors without data.
void RunOnMeta(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op and remembers what its gradient needs.
void RunAutograd(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op in float32 where autocast would have it computed with fewer bits.
void RunAutocast(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// What PyTorch has as `library`::`name` has a second operator of the same schema, whose library has this before its
// name. Its one kernel, which is in Python, stands in for RunOnMeta where sizes are symbols.
constexpr char kSymbolicPrefix[] = "_symbolic_";

// A tensor of each type; `make` makes it of sizes and a dtype.
template <typename Make>
Tensors MakeOutputs(const pykernels::Tensors& types, const Make& make) {
  Tensors outputs;
  for (const pk_tensor& type : types) {
    outputs.push_back(make(at::IntArrayRef(type.dims, static_cast<size_t>(type.ndim)), ToScalarType(type.dtype)));
  }
  return outputs;
}

}  // namespace pykernels::torch_ops

#endif  // PYKERNELS_REGISTRY_TORCH_KERNELS_H_
