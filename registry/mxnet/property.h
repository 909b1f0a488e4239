// The functions that MXNet calls to learn about a custom operator, before any data flows.
#ifndef PYKERNELS_REGISTRY_MXNET_PROPERTY_H_
#define PYKERNELS_REGISTRY_MXNET_PROPERTY_H_

#include "api.h"

namespace pykernels::mxnet {

class Operator;

// The creator of every operator: MXNet calls it for each use of one, with its attributes as texts.
int CreateProperty(const char* op_type, int num_kwargs, const char** keys, const char** values, MXCallbackList* ret);

// Whether these are the functions of a use of one of our ops.
bool IsProperty(const MXCallbackList& list);

// The op at one place of a graph that these are the functions of, or null if it is not ours.
const Operator* AsOperator(const MXCallbackList& list);

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_PROPERTY_H_
