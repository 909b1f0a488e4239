#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

// The gradient of the gradient is the op itself.
Maybe<void> PlanSecondGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("tensor_negate_forward")
        .InputBind("x", ctx->FwOp().output_grad("dx", 0))
        .Output("y")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("dy", 0), [&] { return ctx->GetOp(grad).output("y", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("tensor_negate_forward")
    .Input("x", "number[...]")
    .Output("y", "number[...]")
    .Split("...")
    .Backward("dy -> dx")
    .Tangent("tx -> ty");

REGISTER_USER_OP_GRAD("tensor_negate_backward").SetBackwardOpConfGenFn(PlanSecondGradient);

}  // namespace oneflow
