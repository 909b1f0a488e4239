// Kernels run after the call of their op has returned; what goes wrong in them is told where OneFlow is next waited for.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_
#define PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_

#include <string>

namespace pykernels::oneflow {

// `output` is the first output that the kernel was given; it tells which call it was, where the text does not.
void AddFailure(const std::string& text, const void* output);

// What has gone wrong since this was last asked; empty if nothing has. With the GIL.
std::string TakeFailures();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_
