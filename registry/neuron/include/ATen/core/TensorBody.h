// In front of PyTorch's own header of this name: a copy of that one, with what torchneuron/tensor_members.h declares added
// to class Tensor, which is made when a library is built.
#pragma once

#include "torchneuron/accessors.h"
#include PYKERNELS_NEURON_TENSOR_BODY
#include "torchneuron/tensor_functions.h"
