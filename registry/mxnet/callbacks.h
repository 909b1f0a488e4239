// Helpers for the sets of functions that MXNet calls.
#pragma once

#include <string>
#include <vector>

#include "api.h"

namespace pykernels::mxnet {

// Converts a function of any of MXNet's callback types to the type that MXCallbackList holds.
template <typename Function>
MXCallback Generic(Function* function) {
  // Over void*, for compilers that warn of a cast between function types.
  return reinterpret_cast<MXCallback>(reinterpret_cast<void*>(function));
}

// Sets an empty list: MXNet deletes the list that it receives, even after a failure.
void SetNothing(MXCallbackList* ret);

// Returns names in the form that MXNet expects: terminated by null, valid until this thread calls again.
int ListNames(const std::vector<std::string>& names, size_t begin, size_t end, char*** list);

}  // namespace pykernels::mxnet
