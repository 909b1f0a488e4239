// The registrar for OneFlow, one translation unit that is linked with host.cpp.
#include "oneflow/call_object.cpp"
#include "oneflow/callers.cpp"
#include "oneflow/calls.cpp"
#include "oneflow/definition.cpp"
#include "oneflow/eager_gradient.cpp"
#include "oneflow/failures.cpp"
#include "oneflow/kernel.cpp"
#include "oneflow/module.cpp"
#include "oneflow/op_type.cpp"
#include "oneflow/threads.cpp"

// Each version of OneFlow has its own file, in a folder that the build chooses.
#include "version.cpp"
