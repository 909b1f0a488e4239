// Creates views of equal shapes, following NumPy's broadcasting.
#pragma once

#include <vector>

#include <poplar/Tensor.hpp>

namespace poputil {

void expandToMatchRanks(poplar::Tensor& a, poplar::Tensor& b);
void broadcastToMatch(poplar::Tensor& a, const std::vector<std::size_t>& shape);
void broadcastToMatch(poplar::Tensor& a, poplar::Tensor& b);
void broadcastToMatch(poplar::Tensor& a, poplar::Tensor& b, poplar::Tensor& c);
bool canBroadcastToMatch(const poplar::Tensor& a, const poplar::Tensor& b);

}  // namespace poputil
