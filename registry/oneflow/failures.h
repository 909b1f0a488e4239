// Collects errors of kernels, which run after the call of their op has returned; the next wait for OneFlow reports
// them.
#pragma once

#include <string>

namespace pykernels::oneflow {

// Records an error. `output` is the kernel's first output, which identifies the call if the text does not.
void AddFailure(const std::string& text, const void* output);

// Returns and clears the errors since the last call; empty if there are none. Needs the GIL.
std::string TakeFailures();

}  // namespace pykernels::oneflow
