// Functions of API files that do nothing but call an op: for OneFlow's tensors their Python code is left out, since it
// takes as long as the op on a few elements.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_SHORTCUTS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_SHORTCUTS_H_

#include "headers.h"

namespace pykernels::oneflow {

// shorten(function, tensors, attributes, is_list, learn): from now on `function`, a Python function without *arguments,
// is called as before but for its Python code, wherever there is no more to it than a call of an op.
//
// tensors, attributes: tuples of positions among its parameters. is_list: whether it returns a tuple of tensors.
// learn(values) gives the call object for attributes of these values, or None; it is asked after Python's code has run
// with them, and again only when the ops that are loaded have changed.
PyObject* Shorten(PyObject* module, PyObject* arguments);

// `space` is the dictionary whose entry "plans" is another object whenever the ops that are loaded have changed.
void SetSpaceOfPlans(PyObject* space);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_SHORTCUTS_H_
