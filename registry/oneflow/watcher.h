// Who is told of tensors inside of graphs: the gradients that a job has asked for.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_WATCHER_H_
#define PYKERNELS_REGISTRY_ONEFLOW_WATCHER_H_

#include <cstdint>

namespace pykernels::oneflow {

// Called on a thread of OneFlow's with a name that was given for the tensor, and with what OneFlow's Python module reads
// its numbers from until the call returns.
using Told = void (*)(const char* watcher, int64_t blob);

// What OneFlow keeps a pointer to, for good; null if this version of it tells nobody.
void* MakeWatcher(Told told);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_WATCHER_H_
