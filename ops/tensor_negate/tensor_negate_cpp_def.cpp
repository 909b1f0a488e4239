#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType dtype = ctx->InputDType("x", 0);
  if (!IsFloatingDataType(dtype) && !IsIntegralDataType(dtype)) {
    return Error::TypeError() << "x must be of floating-point or integer numbers, but is " << dtype;
  }
  ctx->SetOutputDType("y", 0, dtype);
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("dx", 0, ctx->InputShape("dy", 0));
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("tensor_negate_backward")
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

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
    .Input("x")
    .Output("y")
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP("tensor_negate_backward")
    .Input("dy")
    .Output("dx")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP_GRAD("tensor_negate_forward").SetBackwardOpConfGenFn(PlanGradient);
REGISTER_USER_OP_GRAD("tensor_negate_backward").SetBackwardOpConfGenFn(PlanSecondGradient);

}  // namespace oneflow
