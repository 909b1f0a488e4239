// The registrar for OneFlow, which goes with host.cpp. One translation unit, as that is.
#include "oneflow/attributes.cpp"
#include "oneflow/blas.cpp"
#include "oneflow/call_object.cpp"
#include "oneflow/callers.cpp"
#include "oneflow/calls.cpp"
#include "oneflow/definition.cpp"
#include "oneflow/eager_gradient.cpp"
#include "oneflow/failures.cpp"
#include "oneflow/gradient.cpp"
#include "oneflow/kernel.cpp"
#include "oneflow/module.cpp"
#include "oneflow/op_type.cpp"
#include "oneflow/shortcuts.cpp"
#include "oneflow/threads.cpp"

// One for each version of OneFlow, in a folder that the build chooses.
#include "graph_gradient.cpp"
#include "graph_launch.cpp"
