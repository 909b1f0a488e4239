#include <torch/torch.h>
#include "torchneuron/register.h"

torch::Tensor smooth_shape(const torch::Tensor& x, double share) { return torch::empty(x.sizes(), torch::kFloat); }

NEURON_LIBRARY(smoothing, m) { m.def("smooth", &smooth_shape, "smooth_compute"); }
