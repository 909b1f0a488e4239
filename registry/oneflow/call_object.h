// Calls of ops as Python has them.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_CALL_OBJECT_H_
#define PYKERNELS_REGISTRY_ONEFLOW_CALL_OBJECT_H_

#include <memory>
#include <string>

#include "calls.h"

namespace pykernels::oneflow {

// How OneFlow's own Python module makes tensors, and what every call asks first: while the set `threads_in_kernels` is
// not empty, `check`, which is called with the op's name.
struct Python {
  PyTypeObject* tensor_type = nullptr;
  PyObject* (*new_tensor)(const std::shared_ptr<of::one::Tensor>&) = nullptr;
  PyObject* threads_in_kernels = nullptr;
  PyObject* check = nullptr;
};
// Set before the first call; the objects are kept for good.
void SetPython(const Python& python);

bool IsTensor(PyObject* value);

// The type of the objects, which are called with tensors and give a tuple of tensors.
PyTypeObject* CallType();

// `label` is what users call the op.
PyObject* NewCallObject(std::unique_ptr<const Callable> callable, const char* label);

// Calls an object of that type: a tuple of tensors or, if `is_sole`, the only one. Null with a Python error set.
PyObject* CallOn(PyObject* object, PyObject* const* tensors, Py_ssize_t n, bool is_sole);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_CALL_OBJECT_H_
