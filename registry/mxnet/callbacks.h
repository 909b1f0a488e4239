// What every set of functions that is given to MXNet needs.
#ifndef PYKERNELS_REGISTRY_MXNET_CALLBACKS_H_
#define PYKERNELS_REGISTRY_MXNET_CALLBACKS_H_

#include <string>
#include <vector>

#include "api.h"

namespace pykernels::mxnet {

// A function of any of MXNet's callback types as what MXCallbackList holds.
template <typename Function>
MXCallback Generic(Function* function) {
  // Over void*, for compilers that warn of a cast between function types.
  return reinterpret_cast<MXCallback>(reinterpret_cast<void*>(function));
}

// MXNet deletes what it is given, even after a failure.
void SetNothing(MXCallbackList* ret);

// Gives out names as MXNet wants them: valid until this thread asks again, ended by null.
int ListNames(const std::vector<std::string>& names, size_t begin, size_t end, char*** list);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_CALLBACKS_H_
