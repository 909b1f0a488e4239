// Registers node types with sessions.
#pragma once

#include <string>
#include <vector>

#include "node_type.h"

namespace pykernels::onnxruntime {

// Adds these node types, which live as long as the process, to a session's options.
void AddDomains(const std::vector<const NodeType*>& types, OrtSessionOptions* options, const OrtApi& api);

// Returns the node types that RegisterCustomOps adds.
std::vector<const NodeType*> OfferedTypes();

}  // namespace pykernels::onnxruntime
