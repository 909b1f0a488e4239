// The parts that differ in OneFlow 0.8.
#pragma once

#include <string>
#include <utility>

namespace oneflow::one {

// What a call saves for its gradient.
class AutoGradCaptureState {
 public:
  virtual ~AutoGradCaptureState() = default;

 protected:
  TensorTuple saved_;
};

}  // namespace oneflow::one

namespace pykernels::oneflow {

inline void SetOutputShape(::oneflow::user_op::InferContext* context, const std::string& argument, int32_t index,
                           ::oneflow::Shape&& shape) {
  *context->OutputShape(argument, index) = std::move(shape);
}

inline void SetOutputDtype(::oneflow::user_op::InferContext* context, const std::string& argument, int32_t index,
                           ::oneflow::DataType dtype) {
  *context->OutputDType(argument, index) = dtype;
}

}  // namespace pykernels::oneflow
