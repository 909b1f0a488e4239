// The node types of a library that ONNX Runtime loads.
#include "../onnxruntime/node_type.h"
#include "library.h"

namespace pykernels::onnxruntime {
namespace {

std::vector<const NodeType*> MakeTypes() {
  std::vector<const NodeType*> types;
  for (int32_t i = 0; i < library::n_ops; ++i) {
    const library::OpEntry& entry = library::ops[i];
    // Never deleted: sessions use them.
    types.push_back(new NodeType(entry.domain, entry.name, library::MakeOp(i), entry.dtypes, entry.n_rows));
  }
  return types;
}

}  // namespace

std::vector<const NodeType*> OfferedTypes() {
  static const auto* types = new std::vector<const NodeType*>(MakeTypes());
  return *types;
}

}  // namespace pykernels::onnxruntime
