// The functions that MXNet calls to learn about a custom operator, before any data flows.
#pragma once

#include "api.h"

namespace pykernels::mxnet {

class Operator;

// Creates a property for an operator; MXNet calls it for each use, with the attributes as strings.
int CreateProperty(const char* op_type, int num_kwargs, const char** keys, const char** values, MXCallbackList* ret);

// Returns whether these are the functions of a use of one of our ops.
bool IsProperty(const MXCallbackList& list);

// Returns the op, at one place in a graph, that these functions belong to; null if it is not ours.
const Operator* AsOperator(const MXCallbackList& list);

}  // namespace pykernels::mxnet
