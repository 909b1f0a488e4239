// An op that the engine is tried with before it is trusted.
#pragma once

namespace pykernels::mxnet {

// Registers the op `name`, which doubles float32 numbers, as does its gradient.
void AddCheckedOp(const char* name);

}  // namespace pykernels::mxnet
