// The attributes of a node.
#ifndef PYKERNELS_REGISTRY_ONNXRUNTIME_ATTRIBUTES_H_
#define PYKERNELS_REGISTRY_ONNXRUNTIME_ATTRIBUTES_H_

#include <string>

#include "../host/attributes.h"
#include "declarations/onnxruntime.h"

namespace pykernels::onnxruntime {

// Those that `op` declares, with its defaults for those that the node does not have. Others cannot be asked for. A
// dtype is ONNX's number of it or its name; what ONNX has no attribute type for is a string in Python's notation.
Attributes ReadAttributes(const pk_op& op, const std::string& label, const OrtApi& api, const OrtKernelInfo* info);

}  // namespace pykernels::onnxruntime

#endif  // PYKERNELS_REGISTRY_ONNXRUNTIME_ATTRIBUTES_H_
