#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const float p = ctx->Attr<float>("p");
  const int64_t seed = ctx->Attr<int64_t>("seed");
  if (!(p >= 0 && p < 1)) { return Error::ValueError() << "p must be from 0 to less than 1, but is " << p; }
  if (seed < 0) { return Error::ValueError() << "seed must not be negative, but is " << seed; }
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  ctx->SetOutputShape("mask", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType dtype = ctx->InputDType("x", 0);
  if (!IsFloatingDataType(dtype)) {
    return Error::TypeError() << "x must be floating point, but is " << dtype;
  }
  ctx->SetOutputDType("y", 0, dtype);
  ctx->SetOutputDType("mask", 0, dtype);
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("dropout_backward")
        .InputBind("mask", ctx->FwOp().output("mask", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

/* Which elements are dropped depends on their place in the whole tensor, so it cannot be split. */
REGISTER_USER_OP("dropout_forward")
    .Input("x")
    .Output("y")
    .Output("mask")
    .Attr<float>("p", 0.5)
    .Attr<int64_t>("seed", 0)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::DefaultBroadcastToBroadcast);

REGISTER_USER_OP("dropout_backward")
    .Input("mask")
    .Input("dy")
    .Output("dx")
    .SetLogicalTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP_GRAD("dropout_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
