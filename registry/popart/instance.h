// An op, made ready for inputs of certain types.
#ifndef PYKERNELS_REGISTRY_POPART_INSTANCE_H_
#define PYKERNELS_REGISTRY_POPART_INSTANCE_H_

#include <popart/op.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan.h"

namespace popart_cpu {

// The types of an op's inputs; one that is left out is not set.
using Infos = std::vector<popart::TensorInfo>;

// An op as its maker has left it, and the library whose Opx it is computed by.
struct Instance {
  std::shared_ptr<const popart::Op> op;
  std::string library;
};

struct Prepared {
  Infos outputs;
  Plan plan;
};

std::unique_ptr<popart::Op> Clone(const popart::Op& op);

// Gives an op its inputs and calls its setup(); gives the types of its outputs.
Infos Setup(popart::Op* op, const Infos& inputs);

// What computes it. All throw what is wrong, and also what the op throws.
std::unique_ptr<const Prepared> Prepare(const Instance& instance, const Infos& inputs);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_INSTANCE_H_
