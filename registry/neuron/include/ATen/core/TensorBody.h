// Found before PyTorch's own header of this name. The build of a library makes a copy of that header and adds the
// members that torchneuron/tensor_members.h declares to class Tensor.
#pragma once

#include "torchneuron/accessors.h"
#include PYKERNELS_NEURON_TENSOR_BODY
#include "torchneuron/tensor_functions.h"
