#include <torch/torch.h>
#include "torchneuron/register.h"

torch::Tensor clip_shape(const torch::Tensor& x, const torch::Scalar& low, const torch::Scalar& high) {
  return torch::empty(x.sizes(), torch::kFloat);
}

NEURON_LIBRARY(cores, m) { m.def("clip", &clip_shape, "clip_compute"); }
