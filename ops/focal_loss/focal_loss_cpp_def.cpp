#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> CheckAttributes(user_op::InferContext* ctx) {
  const float alpha = ctx->Attr<float>("alpha");
  const float gamma = ctx->Attr<float>("gamma");
  if (!(alpha >= 0 && alpha <= 1)) {
    return Error::ValueError() << "alpha must be from 0 to 1, but is " << alpha;
  }
  if (!(gamma >= 0)) { return Error::ValueError() << "gamma must not be negative, but is " << gamma; }
  return Maybe<void>::Ok();
}

Maybe<void> CheckShape(user_op::InferContext* ctx, const std::string& name) {
  const Shape& logits = ctx->InputShape("logits", 0);
  const Shape& other = ctx->InputShape(name, 0);
  if (other != logits) {
    return Error::RuntimeError() << name << " must have the shape of logits, " << logits << ", but has "
                                 << other;
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  JUST(CheckAttributes(ctx));
  JUST(CheckShape(ctx, "targets"));
  ctx->SetOutputShape("loss", 0, ctx->InputShape("logits", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType logits = ctx->InputDType("logits", 0);
  const DataType targets = ctx->InputDType("targets", 0);
  if (!IsFloatingDataType(logits)) {
    return Error::TypeError() << "logits must be floating point, but is " << logits;
  }
  if (!IsFloatingDataType(targets) && !IsIntegralDataType(targets)) {
    return Error::TypeError() << "targets must be of floating-point or integer numbers, but is " << targets;
  }
  ctx->SetOutputDType("loss", 0, logits);
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  JUST(CheckShape(ctx, "targets"));
  JUST(CheckShape(ctx, "dloss"));
  ctx->SetOutputShape("dlogits", 0, ctx->InputShape("logits", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferGradDataType(user_op::InferContext* ctx) {
  ctx->SetOutputDType("dlogits", 0, ctx->InputDType("logits", 0));
  return Maybe<void>::Ok();
}

/* Targets have no gradient. */
Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("focal_loss_backward")
        .InputBind("logits", ctx->FwOp().input("logits", 0))
        .InputBind("targets", ctx->FwOp().input("targets", 0))
        .InputBind("dloss", ctx->FwOp().output_grad("loss", 0))
        .Output("dlogits")
        .Attr("alpha", ctx->FwOp().attr<float>("alpha"))
        .Attr("gamma", ctx->FwOp().attr<float>("gamma"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("logits", 0),
                            [&] { return ctx->GetOp(grad).output("dlogits", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("focal_loss_forward")
    .Input("logits")
    .Input("targets")
    .Output("loss")
    .Attr<float>("alpha", 0.25)
    .Attr<float>("gamma", 2)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP("focal_loss_backward")
    .Input("logits")
    .Input("targets")
    .Input("dloss")
    .Output("dlogits")
    .Attr<float>("alpha", 0.25)
    .Attr<float>("gamma", 2)
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(InferGradDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP_GRAD("focal_loss_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
