// Kernels run after the call of their op has returned; what goes wrong in them is told where OneFlow is next waited for.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_
#define PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_

#include <string>

namespace pykernels::oneflow {

void AddFailure(const std::string& text);

// What has gone wrong since this was last asked; empty if nothing has.
std::string TakeFailures();

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_FAILURES_H_
