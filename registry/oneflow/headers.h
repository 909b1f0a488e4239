// OneFlow's own headers, and our declarations of the few names that we use from headers missing in its wheel.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

// Include guards of headers that include what the wheel lacks; this registrar does not need them.
#define ONEFLOW_CORE_FRAMEWORK_INSTRUCTIONS_BUILDER_H_
#define ONEFLOW_CORE_FRAMEWORK_SCOPE_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_SESSION_UTIL_H_

#include "oneflow/core/common/auto_registration_factory.h"
#include "oneflow/core/framework/dtype.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/framework/op_interpreter/op_interpreter_util.h"
#include "oneflow/core/framework/tensor.h"
#include "oneflow/core/job/lazy_mode.h"

// Each version has its own file in its own folder; the build chooses one.
#include "version.h"

namespace oneflow {

namespace autograd {

struct GradMode {
  static bool is_enabled();
};

}  // namespace autograd

namespace one {

// A tensor as a gradient saves it: with its place in the autograd graph, which it does not keep alive.
class AutogradCapturedTensor {
 public:
  static Maybe<Tensor> MakeTensor(const std::shared_ptr<Tensor>& tensor);
};

// The gradient of an op outside of graphs.
class OpExprGradFunctionIf {
 public:
  virtual ~OpExprGradFunctionIf() = default;
  virtual std::shared_ptr<AutoGradCaptureState> MakeCustomState() const = 0;
  virtual Maybe<void> Init(const OpExpr& op) = 0;
  virtual Maybe<void> CaptureIf(AutoGradCaptureState* state, const TensorTuple& inputs, const TensorTuple& outputs,
                                const OpExprInterpContext& context) const = 0;
  virtual Maybe<void> ApplyIf(const AutoGradCaptureState* state, const TensorTuple& output_gradients,
                              TensorTuple* input_gradients) const = 0;
};

}  // namespace one
}  // namespace oneflow

namespace pykernels::oneflow {

namespace of = ::oneflow;
namespace user_op = ::oneflow::user_op;

}  // namespace pykernels::oneflow
