// The Python objects that call ops.
#pragma once

#include <memory>
#include <string>

#include "calls.h"

namespace pykernels::oneflow {

// What OneFlow's own Python module uses to make tensors, and the check before every call: while the set
// `threads_in_kernels` is not empty, the call runs `check` with the op's name.
struct Python {
  PyTypeObject* tensor_type = nullptr;
  PyObject* (*new_tensor)(const std::shared_ptr<of::one::Tensor>&) = nullptr;
  PyObject* threads_in_kernels = nullptr;
  PyObject* check = nullptr;
};
// Sets these before the first call; the objects are kept for good.
void SetPython(const Python& python);

// Prepares the type of the objects before the first one is made; returns false with a Python error set.
bool PrepareCallObjects();

// Returns an object that is called with tensors and returns a tuple of tensors. `label` is the user's name for the op.
PyObject* NewCallObject(std::unique_ptr<const Callable> callable, const char* label);

}  // namespace pykernels::oneflow
