// The node types of a library that ONNX Runtime loads.
#include "../onnxruntime/domains.h"
#include "library.h"

namespace pykernels::onnxruntime {
namespace {

std::vector<const NodeType*> MakeTypes() {
  std::vector<const NodeType*> types;
  for (int32_t i = 0; i < library::n_ops; ++i) {
    const library::OpEntry& entry = library::ops[i];
    std::shared_ptr<const Op> op = library::MakeOp(i);
    const size_t width = op->declared().n_inputs + op->declared().n_outputs;
    std::vector<std::vector<int32_t>> rows;
    for (int32_t k = 0; k < entry.n_rows; ++k) {
      rows.emplace_back(entry.dtypes + k * width, entry.dtypes + (k + 1) * width);
    }
    // Never deleted: sessions use them.
    types.push_back(new NodeType(entry.domain, entry.name, std::move(op), rows));
  }
  return types;
}

}  // namespace

std::vector<const NodeType*> OfferedTypes() {
  static const auto* types = new std::vector<const NodeType*>(MakeTypes());
  return *types;
}

}  // namespace pykernels::onnxruntime
