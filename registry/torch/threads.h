// Runs kernels that can be split on PyTorch's intra-op threads.
#pragma once

namespace pykernels::torch_ops {

void UseThreads();

}  // namespace pykernels::torch_ops
