// Passes results and exceptions between C++ and Python.
#pragma once

#include "../host/error.h"
#include "headers.h"

namespace pykernels::oneflow {

// Returns the result of `body`; if it throws, sets a Python error and returns null.
template <typename Body>
PyObject* Raise(const Body& body) {
  try {
    return body();
  } catch (const std::exception& problem) {
    // A Python error may already be set.
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, TextOf(problem).c_str());
    return nullptr;
  }
}

// Propagates the current Python exception through C++.
[[noreturn]] inline void FailInPython() { throw Error(kPykernelsError, "a Python exception"); }

}  // namespace pykernels::oneflow
