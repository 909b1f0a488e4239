// An op to try a road of execution with, before it is trusted.
#ifndef PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_
#define PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_

namespace pykernels::mxnet {

// Enters the op `name`, which doubles float32 numbers, and so does its gradient.
void AddCheckedOp(const char* name);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_
