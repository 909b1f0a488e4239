// The part of PyTorch's C++ interface that Neuron's operators have: tensors, scalars and the operators on them.
// PyTorch's own header of this name adds modules, optimizers and data loaders, and takes twice as long to compile.
#pragma once

#include <torch/types.h>
