// Converts tensors to another element type.
#pragma once

#include <popops/ElementWise.hpp>

namespace popops {

inline poplar::Tensor cast(poplar::Graph& graph, const poplar::Tensor& source, const poplar::Type& type,
                           poplar::program::Sequence& prog, const poplar::DebugContext& context = {}) {
  return map(graph, expr::Cast(expr::_1, type), {source}, prog, context);
}

inline void castWithOutput(poplar::Graph& graph, const poplar::Tensor& source, const poplar::Tensor& destination,
                           poplar::program::Sequence& prog, const poplar::DebugContext& context = {}) {
  mapWithOutput(graph, expr::Cast(expr::_1, destination.elementType()), {source}, destination, prog, context);
}

}  // namespace popops
