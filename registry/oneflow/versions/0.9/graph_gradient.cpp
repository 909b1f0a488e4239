// OneFlow 0.9 records gradients in graphs in the same way as outside of them.
#include "../../op_type.h"

namespace pykernels::oneflow {

void EnterGraphGradient(const OpType& /*type*/) {}

}  // namespace pykernels::oneflow
