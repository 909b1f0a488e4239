// Sets all elements of a tensor to zero.
#pragma once

#include <popops/Fill.hpp>

namespace popops {

inline void zero(poplar::Graph& graph, const poplar::Tensor& tensor, poplar::program::Sequence& prog,
                 const poplar::DebugContext& context = {}) {
  fill(graph, tensor, prog, 0, context);
}

}  // namespace popops
