#include "gradient.h"

#include "../host/backward.h"

namespace pykernels::oneflow {

PlannedGradient PlanGradient(const Specialization& forward, const std::string& name) {
  // The whole plan is checked in making it for the host, types of all tensors included.
  forward.Backward();
  const Instance& instance = forward.instance();
  if (!instance.op().has_gradient()) return {};
  pk_instance view = instance.View(forward.inputs(), forward.outputs());
  view.name = name.c_str();
  return RecordGradient(instance.op(), view);
}

std::string OutputBlob(const PlannedOp& op, const std::string& argument, int32_t index) {
  return Join(op.name, "/", argument, "_", index);
}

}  // namespace pykernels::oneflow
