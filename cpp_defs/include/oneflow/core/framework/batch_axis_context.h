/* Contexts of functions that OneFlow up to 0.4 asked for and that have no reader here: the batch axis of the outputs,
 * and how often an output is produced. Definitions that have such functions compile; nothing calls them. */
#ifndef ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_

#include "pykernels/definition/op_context.h"

namespace oneflow {
namespace user_op {

class BatchAxisContext : public pykernels::OpContext {
 public:
  using OpContext::OpContext;

  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(
      const std::string& name, int32_t index, pykernels::Where at = pykernels::Where::Here()) const {
    return Tensor(name, index, at);
  }
  OptInt64* BatchAxis4ArgNameAndIndex(const std::string&, int32_t) {
    axes_.emplace_back();
    return &axes_.back();
  }

 private:
  std::list<OptInt64> axes_;
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

#endif  // ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_
