// A use of an op, out of the texts in which MXNet keeps it.
#ifndef PYKERNELS_REGISTRY_MXNET_USE_H_
#define PYKERNELS_REGISTRY_MXNET_USE_H_

#include <memory>
#include <string>

#include "../host/instance.h"

namespace pykernels::mxnet {

// The instance of the op that users call `label`, with `n` attributes. MXNet does not say how many arrays a call has:
// for an op with optional or repeated ones the attributes num_args and num_outputs do.
std::shared_ptr<const Instance> FindUse(const std::string& label, int n, const char** keys, const char** values);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_USE_H_
