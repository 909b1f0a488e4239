// A step of a program: a formula of the elements of tensors, which all have the shape of the output.
#ifndef PYKERNELS_REGISTRY_POPART_STEP_H_
#define PYKERNELS_REGISTRY_POPART_STEP_H_

#include <memory>
#include <vector>

#include <poplar/Tensor.hpp>

#include "expression.h"

namespace popart_cpu {

struct Step {
  Formula formula;
  std::vector<poplar::Tensor> inputs;
  poplar::Tensor output;
};

std::shared_ptr<const Step> MakeStep(const std::shared_ptr<const Term>& term, std::vector<poplar::Tensor> inputs,
                                     poplar::Tensor output);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_STEP_H_
