// The parts that differ in OneFlow 0.8.
#ifndef PYKERNELS_REGISTRY_ONEFLOW_VERSION_H_
#define PYKERNELS_REGISTRY_ONEFLOW_VERSION_H_

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

#endif  // PYKERNELS_REGISTRY_ONEFLOW_VERSION_H_
