// The attributes of a node.
#pragma once

#include <string>

#include "../host/attributes.h"
#include "declarations/onnxruntime.h"

namespace pykernels::onnxruntime {

// Returns the attributes that `op` declares, with its defaults for those that the node lacks. ONNX Runtime cannot list
// other attributes. A dtype is ONNX's number or its name; types without an ONNX attribute type are strings in Python's
// notation.
Attributes ReadAttributes(const pk_op& op, const std::string& label, const OrtApi& api, const OrtKernelInfo* info);

}  // namespace pykernels::onnxruntime
