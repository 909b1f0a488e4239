#include <torch/torch.h>
#include "torchneuron/register.h"

#include "helper.h"

inline int64_t twin(int64_t n) { return n + 1; }

torch::Tensor blend_shape(torch::Tensor x, const torch::Tensor& y, torch::Scalar, double, int64_t) {
  TORCH_CHECK(x.sizes() == y.sizes(), "blend wants tensors of one shape");
  return torch::empty({twin(x.size(0)) - 1, x.size(1)}, torch::kFloat);
}

torch::Tensor join_shape(const torch::Tensor& x, const torch::Tensor& y) {
  return torch::zeros({x.numel() + y.numel() + HELPER_GAP}, torch::kInt);
}

// The same name as the kernel function's.
torch::Tensor same(const torch::Tensor& x) { return torch::empty_like(x); }

torch::Tensor four(const torch::Tensor&) { return torch::zeros({4}, torch::kFloat); }

torch::Tensor eight(const torch::Tensor&, int64_t which) {
  return torch::zeros({which == 99 ? 8 / (which - 98) : 8}, torch::kFloat);
}

NEURON_LIBRARY(surface, m) {
  m.def("blend", &blend_shape, "blend");
  m.def("join", &join_shape, "join");
  m.def("same", same, "same");
  m.def("negate", &same, "negate");
  m.def("core_ids", &same, "core_ids");
  m.def("tcm_room", &four, "tcm_room");
  m.def("mistake", &eight, "mistake");
}
