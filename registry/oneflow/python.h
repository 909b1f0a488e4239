// Between C++ and Python.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_PYTHON_H_
#define PYKERNELS_REGISTRY_ONEFLOW_PYTHON_H_

#include "../host/error.h"
#include "headers.h"

namespace pykernels::oneflow {

// What `body` returns; null, with a Python error set, if it throws.
template <typename Body>
PyObject* Raise(const Body& body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    // An error of Python's own is there already.
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, TextOf(problem).c_str());
    return nullptr;
  }
}

// Passes a Python exception on through C++.
[[noreturn]] inline void FailInPython() { throw Error(kPykernelsError, "a Python exception"); }

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_PYTHON_H_
