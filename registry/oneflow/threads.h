// Runs loops on OneFlow's own threads.
#pragma once

namespace pykernels::oneflow {

// Makes kernels that can be split run on these threads.
void UseThreads();

}  // namespace pykernels::oneflow
