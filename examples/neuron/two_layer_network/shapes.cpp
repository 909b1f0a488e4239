#include <torch/torch.h>
#include "torchneuron/register.h"

torch::Tensor dense_forward_shape(const torch::Tensor& x, const torch::Tensor& weight) {
  TORCH_CHECK(x.size(1) == weight.size(1), "x has ", x.size(1), " inputs a row, and weight takes ", weight.size(1));
  return torch::empty({x.size(0), weight.size(0)}, torch::kFloat);
}

torch::Tensor dense_backward_input_shape(const torch::Tensor& dy, const torch::Tensor& weight) {
  return torch::empty({dy.size(0), weight.size(1)}, torch::kFloat);
}

torch::Tensor dense_backward_weight_shape(const torch::Tensor& dy, const torch::Tensor& x) {
  return torch::empty({dy.size(1), x.size(1)}, torch::kFloat);
}

torch::Tensor leaky_forward_shape(const torch::Tensor& x, double slope) {
  return torch::empty(x.sizes(), torch::kFloat);
}

torch::Tensor leaky_backward_shape(const torch::Tensor& dy, const torch::Tensor& x, double slope) {
  return torch::empty(x.sizes(), torch::kFloat);
}

NEURON_LIBRARY(two_layer, m) {
  m.def("dense_forward", &dense_forward_shape, "dense_forward");
  m.def("dense_backward_input", &dense_backward_input_shape, "dense_backward_input");
  m.def("dense_backward_weight", &dense_backward_weight_shape, "dense_backward_weight");
  m.def("leaky_forward", &leaky_forward_shape, "leaky_forward");
  m.def("leaky_backward", &leaky_backward_shape, "leaky_backward");
}
