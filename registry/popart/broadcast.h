// Tensors of different shapes together, as NumPy broadcasts them.
#ifndef PYKERNELS_REGISTRY_POPART_BROADCAST_H_
#define PYKERNELS_REGISTRY_POPART_BROADCAST_H_

#include <poplar/Tensor.hpp>

#include <vector>

namespace popart_cpu {

// The shape that NumPy's broadcasting gives; throws if it gives none.
std::vector<std::size_t> BroadcastShape(const std::vector<poplar::Tensor>& tensors);
poplar::Tensor BroadcastTo(const poplar::Tensor& tensor, const std::vector<std::size_t>& shape);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_BROADCAST_H_
