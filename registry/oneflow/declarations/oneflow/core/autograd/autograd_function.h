// The one name that op_expr.h takes from this header, which OneFlow's wheel lacks.
#pragma once

#include <functional>
#include <memory>

namespace oneflow {
namespace one {

class TensorTuple;
class FunctionAutoGradCaptureState;

struct AutogradFunctionBase {
  using FType =
      std::function<std::shared_ptr<TensorTuple>(const std::shared_ptr<FunctionAutoGradCaptureState>&,
                                                 const TensorTuple&)>;
};

}  // namespace one
}  // namespace oneflow
