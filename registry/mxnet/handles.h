// Runs an op that MXNet calls as a custom operator: on a separate thread, with NDArray handles.
#pragma once

#include "operator.h"

namespace pykernels::mxnet {

// `handles` are the tensors of the pass, in MXNet's order. The callee frees them.
void ForwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);
void BackwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);

}  // namespace pykernels::mxnet
