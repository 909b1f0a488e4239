// Sets all elements of a tensor to one number.
#pragma once

#include <popops/ElementWise.hpp>

namespace popops {

template <typename T>
void fill(poplar::Graph& graph, const poplar::Tensor& tensor, poplar::program::Sequence& prog, T value,
          const poplar::DebugContext& context = {}) {
  mapWithOutput(graph, expr::Cast(expr::Const(value), tensor.elementType()), {}, tensor, prog, context);
}

}  // namespace popops
