// Operators that are defined wrongly. The tests look for the lines.
#include <tuple>
#include <vector>

#include <torch/torch.h>
#include "torchneuron/register.h"

torch::Tensor unary(const torch::Tensor& x) { return torch::empty_like(x); }
torch::Tensor with_float(const torch::Tensor& x, float) { return x; }
torch::Tensor with_int(const torch::Tensor& x, int) { return x; }
torch::Tensor with_list(std::vector<torch::Tensor> x) { return x[0]; }
std::tuple<torch::Tensor, torch::Tensor> pair(const torch::Tensor& x) { return {x, x}; }
torch::Tensor with_double(const torch::Tensor& x, double) { return x; }

NEURON_LIBRARY(wrong, m) {
  m.def("missing", &unary, "blen");
  m.def("joined", &unary, "join");
  m.def("scaled", &with_float, "same");
  m.def("counted", &with_int, "same");
  m.def("listed", &with_list, "same");
  m.def("paired", &pair, "same");
  m.def("summed", &unary, "total");
  m.def("c", &unary, "without_types");
  m.def("narrow", &with_double, "narrow");
  m.def("no name", &unary, "same");
  m.def("once", &unary, "same");
  m.def("once", &unary, "negate");
}

NEURON_LIBRARY(many, m) {
  for (int i = 0; i < 11; i++) {
    m.def(("op" + std::to_string(i)).c_str(), &unary, "same");  // many
  }
}
