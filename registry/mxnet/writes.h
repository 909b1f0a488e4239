// Detects whether an array has been written, from the counts of MXNet's engine.
#pragma once

#include <cstddef>
#include <optional>

#include "api.h"

namespace pykernels::mxnet {

// Returns the number of completed operations that wrote the array; none may be running. Empty unless this is the
// libmxnet whose memory layout is known. Writes through a raw pointer are not counted.
std::optional<size_t> CountWrites(NDArrayHandle handle);

}  // namespace pykernels::mxnet
