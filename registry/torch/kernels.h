// The functions of an op that PyTorch's dispatcher calls, one for each dispatch key.
#pragma once

#include "op.h"

namespace pykernels::torch_ops {

using Kernel = void (*)(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Runs the kernel on the CPU.
void RunOnCpu(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Creates the op's results for tensors without data.
void RunOnMeta(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op and saves what its gradient needs.
void RunAutograd(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// Calls the op with its inputs as they are, since kernels compute in float32; in float32 if their dtypes differ.
void RunAutocast(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack);

// For each operator `library`::`name` there is a second one of the same schema, in the library with this prefix. Its
// one kernel, written in Python, replaces RunOnMeta where sizes are symbols.
constexpr char kSymbolicPrefix[] = "_symbolic_";

}  // namespace pykernels::torch_ops
