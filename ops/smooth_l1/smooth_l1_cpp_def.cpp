#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const float scalar = ctx->Attr<float>("scalar");
  if (!(scalar > 0)) { return Error::ValueError() << "scalar must be greater than 0, but is " << scalar; }
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
  const Shape& x = ctx->InputShape("x", 0);
  const Shape& dy = ctx->InputShape("dy", 0);
  if (dy != x) { return Error::RuntimeError() << "dy must have the shape of x, " << x << ", but has " << dy; }
  ctx->SetOutputShape("dx", 0, x);
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("smooth_l1_backward")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Attr("scalar", ctx->FwOp().attr<float>("scalar"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("smooth_l1_forward")
    .Input("x")
    .Output("y")
    .Attr<float>("scalar", 1)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP("smooth_l1_backward")
    .Input("x")
    .Input("dy")
    .Output("dx")
    .Attr<float>("scalar", 1)
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP_GRAD("smooth_l1_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
