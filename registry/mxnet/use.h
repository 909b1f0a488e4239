// Reads a use of an op from the strings in which MXNet keeps it.
#pragma once

#include <memory>
#include <string>

#include "../host/instance.h"

namespace pykernels::mxnet {

// Returns the instance of the op that users call `label`, with `n` attributes. MXNet does not pass the number of arrays
// of a call, so for an op with optional or repeated arguments the attributes num_args and num_outputs give it.
std::shared_ptr<const Instance> FindUse(const std::string& label, int n, const char** keys, const char** values);

}  // namespace pykernels::mxnet
