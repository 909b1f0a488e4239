// The parts that differ in OneFlow 0.9.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oneflow/core/framework/saved_tensor_hooks.h"

namespace oneflow::one {

// What a call saves for its gradient. OneFlow itself reads `saved_` and `hooks_`, which stay empty here.
class AutoGradCaptureState {
 public:
  virtual ~AutoGradCaptureState() = default;

  std::vector<bool> input_requires_grad;

 protected:
  TensorTuple saved_;
  small_vector<std::unique_ptr<SavedTensorHook>, TensorTuple::kInitialSize> hooks_;
};

}  // namespace oneflow::one

namespace pykernels::oneflow {

inline void SetOutputShape(::oneflow::user_op::InferContext* context, const std::string& argument, int32_t index,
                           const ::oneflow::Shape& shape) {
  context->SetOutputShape(argument, index, shape);
}

inline void SetOutputDtype(::oneflow::user_op::InferContext* context, const std::string& argument, int32_t index,
                           ::oneflow::DataType dtype) {
  context->SetOutputDType(argument, index, dtype);
}

}  // namespace pykernels::oneflow
