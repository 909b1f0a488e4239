// The ops that Python holds by their numbers.
#ifndef PYKERNELS_REGISTRY_POPART_KEPT_H_
#define PYKERNELS_REGISTRY_POPART_KEPT_H_

#include <cstdint>

#include "instance.h"

namespace popart_cpu {

struct Kept {
  Instance instance;
  std::shared_ptr<popart::Op> op;  // with the inputs and outputs that it was told last
  Infos inputs;
  Infos outputs;
};

// Throws if there is none.
Kept& FindKept(int64_t number);
int64_t Keep(std::unique_ptr<popart::Op> op, std::string library);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_KEPT_H_
