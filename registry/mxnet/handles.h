// How an op runs when MXNet calls it as a custom operator: on a thread of its own, with NDArray handles.
#ifndef PYKERNELS_REGISTRY_MXNET_HANDLES_H_
#define PYKERNELS_REGISTRY_MXNET_HANDLES_H_

#include "operator.h"

namespace pykernels::mxnet {

// `handles` are the tensors of the pass, in the order of MXNet, and become ours to free.
void ForwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);
void BackwardHandles(const Operator& op, int n, void** handles, const int* requests, bool is_train);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_HANDLES_H_
