// The PyTorch headers and names that this registrar uses.
#pragma once

#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include "../host/error.h"

namespace pykernels::torch_ops {

using at::Tensor;
using c10::IValue;
using Stack = torch::jit::Stack;

}  // namespace pykernels::torch_ops
