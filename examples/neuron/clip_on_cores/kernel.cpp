// Clips on all cores: each core takes a part of the tensor, in pieces that fit into its own memory.
#include <stdio.h>
#include <neuron/neuron-utils.hpp>
#include <torch/torch.h>

#include <algorithm>

torch::Tensor clip_compute(const torch::Tensor& x, const torch::Scalar& low, const torch::Scalar& high) {
  torch::Tensor y = get_dst_tensor();
  auto x_tcm = x.tcm_accessor();
  auto y_tcm = y.tcm_accessor();

  const size_t size = x.numel();
  const size_t part = (size + get_cpu_count() - 1) / get_cpu_count();
  const size_t begin = std::min(size, part * get_cpu_id());
  const size_t end = std::min(size, begin + part);
  if (get_cpu_id() == 0) { printf("each of %u cores clips %zu elements\n", get_cpu_count(), part); }

  constexpr size_t kPiece = 1024;
  float* piece = (float*)torch::neuron::tcm_malloc(kPiece * sizeof(float));
  if (piece == nullptr) { return y; }
  const float lowest = low.toFloat(), highest = high.toFloat();
  for (size_t i = begin; i < end; i += kPiece) {
    const size_t count = std::min(kPiece, end - i);
    x_tcm.tensor_to_tcm<float>(piece, i, count);
    for (size_t j = 0; j < count; j++) { piece[j] = std::clamp(piece[j], lowest, highest); }
    y_tcm.tcm_to_tensor<float>(piece, i, count);
  }
  torch::neuron::tcm_free(piece);
  return y;
}
