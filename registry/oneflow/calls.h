// Calls of ops as OneFlow makes them.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_
#define PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_

#include <memory>
#include <string>
#include <vector>

#include "op_type.h"

namespace pykernels::oneflow {

// What can be called, any number of times, with as many tensors for each argument.
class Callable {
 public:
  // `caller` is where it will be called, for graphs.
  Callable(const OpType& type, const Counts& counts, const std::vector<pk_attr>& attributes, bool is_train,
           const std::string& caller = "");

  const OpType& type() const { return type_; }
  const Instance& instance() const { return *instance_; }
  const std::shared_ptr<const Instance>& shared_instance() const { return instance_; }
  // Of all tensors, in the order of the instance's.
  const OpType::Listed& inputs() const { return expression_->indexed_input_pairs(); }
  const OpType::Listed& outputs() const { return expression_->indexed_output_pairs(); }

  // The same, called from there.
  Callable From(const std::string& caller) const { return {type_, counts_, instance_->attributes(), is_train_, caller}; }

  // Calls it: outside of graphs, or adds it to the graph that is being built. Throws OneFlow's error. `outputs` is empty
  // before.
  void Run(const of::one::TensorTuple& inputs, of::one::TensorTuple* outputs) const;

  // What this thread is running; null if nothing.
  static const Callable* Running();

 private:
  const OpType& type_;
  const Counts counts_;
  const bool is_train_;
  const std::shared_ptr<const Instance> instance_;
  std::shared_ptr<of::one::UserOpExpr> expression_;
};

}  // namespace pykernels::oneflow

#endif  // PYKERNELS_REGISTRY_ONEFLOW_CALLS_H_
