// Calls of ops as OneFlow makes them.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_

#include <memory>
#include <string>
#include <vector>

#include "op_type.h"

namespace pykernels::oneflow {

// What can be called, any number of times, with as many tensors for each argument.
std::shared_ptr<of::one::UserOpExpr> MakeCall(const OpType& type, const Counts& counts,
                                              const std::vector<pk_attr>& attributes, bool is_train);

// Calls it: outside of graphs, or adds it to the graph that is being built. Throws OneFlow's error.
std::shared_ptr<of::one::TensorTuple> Call(const of::one::UserOpExpr& call, const of::one::TensorTuple& inputs);

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_
