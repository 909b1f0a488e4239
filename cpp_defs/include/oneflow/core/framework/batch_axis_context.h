/* Contexts of functions that OneFlow required up to 0.4 and that are not used here: they infer the batch axis of the
 * outputs, and how often an output is produced. Definitions with such functions compile, but nothing calls them. */
#pragma once

#include "oneflow/core/framework/sbp_context.h"

namespace oneflow {

/* The batch axis of a tensor. */
class OptInt64 {
 public:
  bool has_value() const { return false; }
  int64_t value() const { return -1; }
  void set_value(int64_t) {}
  void clear_value() {}
};
inline bool operator==(const OptInt64&, const OptInt64&) { return true; }

namespace user_op {

class BatchAxisContext : public SbpContextBase {
 public:
  using SbpContextBase::SbpContextBase;

  OptInt64* BatchAxis4ArgNameAndIndex(const std::string&, int32_t) { return &axis_; }

 private:
  OptInt64 axis_;
};

struct BatchAxisInferFnUtil {
  static Maybe<void> DefaultAsFirstHasValueInput(BatchAxisContext*) { return Maybe<void>::Ok(); }
  static Maybe<void> NaiveInferBatchAxis(BatchAxisContext*) { return Maybe<void>::Ok(); }
};

class InferOutputBlobTimeShapeFnContext : public pykernels::OpContext {
 public:
  using OpContext::OpContext;

  const Shape& TimeShape4InputArgNameAndIndex(const std::string&, int32_t) const { return time_shape_; }
  Shape* mut_output_blob_time_shape() { return &time_shape_; }

 private:
  Shape time_shape_;
};

}  // namespace user_op
}  // namespace oneflow
