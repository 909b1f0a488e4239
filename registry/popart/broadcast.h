// Broadcasts tensors of different shapes, following NumPy's rules.
#pragma once

#include <poplar/Tensor.hpp>

#include <vector>

namespace popart_cpu {

// Broadcasts a shape with another one; returns false if they do not match.
template <typename Size>
bool Broadcast(std::vector<Size>* shape, const std::vector<Size>& other) {
  if (other.size() > shape->size()) shape->insert(shape->begin(), other.size() - shape->size(), 1);
  for (std::size_t i = 0; i < other.size(); ++i) {
    Size& size = (*shape)[shape->size() - other.size() + i];
    if (size != other[i] && size != 1 && other[i] != 1) return false;
    if (size == 1) size = other[i];
  }
  return true;
}

// Returns the shape that NumPy broadcasts the tensors to; throws if they cannot be broadcast together.
std::vector<std::size_t> BroadcastShape(const std::vector<poplar::Tensor>& tensors);
poplar::Tensor BroadcastTo(const poplar::Tensor& tensor, const std::vector<std::size_t>& shape);

}  // namespace popart_cpu
