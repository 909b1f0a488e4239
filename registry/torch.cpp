// The registrar for PyTorch, one translation unit that is linked with host.cpp.
#include "torch/autograd.cpp"
#include "torch/forward_mode.cpp"
#include "torch/gradient.cpp"
#include "torch/kernels.cpp"
#include "torch/layout.cpp"
#include "torch/op.cpp"
#include "torch/registrar.cpp"
#include "torch/values.cpp"
