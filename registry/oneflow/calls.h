// Calls of ops as OneFlow makes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op_type.h"

namespace pykernels::oneflow {

// A use of an op, callable any number of times with the same number of tensors for each argument.
class Callable {
 public:
  // `caller` is where the op is called, for graphs.
  Callable(const OpType& type, const Counts& counts, const std::vector<pk_attr>& attributes, bool is_train,
           const std::string& caller = "");

  const OpType& type() const { return type_; }
  const Instance& instance() const { return *instance_; }
  const std::shared_ptr<const Instance>& shared_instance() const { return instance_; }
  // All tensors, in the order of the instance.
  const OpType::Listed& inputs() const { return expression_->indexed_input_pairs(); }
  const OpType::Listed& outputs() const { return expression_->indexed_output_pairs(); }

  // Returns the same callable with another caller.
  Callable From(const std::string& caller) const {
    return {type_, counts_, instance_->attributes(), is_train_, caller};
  }

  // Runs the op outside of graphs, or adds it to the graph under construction. Throws OneFlow's error. `outputs` must
  // be empty.
  void Run(const of::one::TensorTuple& inputs, of::one::TensorTuple* outputs) const;

  // Returns what this thread is running; null if nothing.
  static const Callable* Running();

 private:
  const OpType& type_;
  const Counts counts_;
  const bool is_train_;
  const std::shared_ptr<const Instance> instance_;
  std::shared_ptr<of::one::UserOpExpr> expression_;
};

}  // namespace pykernels::oneflow
