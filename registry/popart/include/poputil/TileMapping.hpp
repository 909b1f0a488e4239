// Where elements are: all on the one tile already.
#pragma once

#include <poplar/Graph.hpp>

namespace poputil {

template <typename... Arguments>
void mapTensorLinearly(poplar::Graph&, const poplar::Tensor&, Arguments&&...) {}

}  // namespace poputil
