// The parts that OneFlow 0.9 lacks or does not need.
#include "../../op_type.h"
#include "../../parts.h"

namespace pykernels::oneflow {

// OneFlow 0.9 records gradients in graphs in the same way as outside of them.
void EnterGraphGradient(const OpType& /*type*/) {}

// It records runs of graphs as late as 0.8 does; this version has no workaround.
void NoteRunsEarly() {}

// It no longer has watchers.
void* MakeWatcher(ReportTensor /*report*/) { return nullptr; }

}  // namespace pykernels::oneflow
