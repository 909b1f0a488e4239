#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType dtype = ctx->InputDType("x", 0);
  if (!IsFloatingDataType(dtype)) {
    return Error::TypeError() << "x must be floating point, but is " << dtype;
  }
  ctx->SetOutputDType("y", 0, dtype);
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  const Shape& y = ctx->InputShape("y", 0);
  const Shape& dy = ctx->InputShape("dy", 0);
  if (dy != y) { return Error::RuntimeError() << "dy must have the shape of y, " << y << ", but has " << dy; }
  ctx->SetOutputShape("dx", 0, y);
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("tanh_backward")
        .InputBind("y", ctx->FwOp().output("y", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("tanh_forward")
    .Input("x")
    .Output("y")
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP("tanh_backward")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP_GRAD("tanh_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
