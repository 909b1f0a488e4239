// Runs an op that MXNet calls as a custom operator: on a separate thread, with NDArray handles.
#ifndef PYKERNELS_REGISTRY_MXNET_HANDLES_H_
#define PYKERNELS_REGISTRY_MXNET_HANDLES_H_

#include "operator.h"

namespace pykernels::mxnet {

// `handles` are the tensors of the pass, in MXNet's order. The callee frees them.
void ForwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);
void BackwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_HANDLES_H_
