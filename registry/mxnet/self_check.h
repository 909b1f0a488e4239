// An op that the engine is tried with before it is trusted.
#ifndef PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_
#define PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_

namespace pykernels::mxnet {

// Registers the op `name`, which doubles float32 numbers, as does its gradient.
void AddCheckedOp(const char* name);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_SELF_CHECK_H_
