// Whether an array has been written, as MXNet's engine counts it.
#ifndef PYKERNELS_REGISTRY_MXNET_WRITES_H_
#define PYKERNELS_REGISTRY_MXNET_WRITES_H_

#include <cstddef>
#include <optional>

#include "api.h"

namespace pykernels::mxnet {

// How many operations that write the array are done; none of them may be running. Empty unless this is the one libmxnet
// whose memory layout is known. Writes through a bare pointer are not counted.
std::optional<size_t> CountWrites(NDArrayHandle handle);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_WRITES_H_
