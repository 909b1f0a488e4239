// The source of a node's attributes.
#pragma once

#include <onnxruntime/node_attributes.h>

#include <optional>

namespace popart_cpu {

struct AttributeSource {
  std::optional<pykernels::onnxruntime::NodeAttributes> node;  // set while the node is created
};

}  // namespace popart_cpu
