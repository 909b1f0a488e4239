// What both kinds of gradients in OneFlow are made of.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_GRADIENT_H_
#define PYKERNELS_REGISTRY_ONEFLOW_GRADIENT_H_

#include <string>
#include <utility>

#include "../host/gradient.h"
#include "op_type.h"

namespace pykernels::oneflow {

// The plan of the gradient of an op, for tensors of these types. `name` is that of this use of the op, with which the
// names of the planned ops begin. Throws what is wrong with the plan: OneFlow ends the process on one that cannot be.
PlannedGradient PlanGradient(const Specialization& forward, const std::string& name);

// The name of an output of a planned op: "<op name>/dx_0".
std::string OutputBlob(const PlannedOp& op, const std::string& argument, int32_t index);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_GRADIENT_H_
