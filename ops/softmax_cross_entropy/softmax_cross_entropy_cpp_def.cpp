#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const Shape& logits = ctx->InputShape("logits", 0);
  const Shape& labels = ctx->InputShape("labels", 0);
  if (logits.NumAxes() != 2) {
    return Error::RuntimeError() << "logits must have 2 axes (rows, classes), but its shape is " << logits;
  }
  const Shape rows({logits.At(0)});
  if (labels != rows) {
    return Error::RuntimeError() << "labels must have one number for each row of logits, " << rows
                                 << ", but has the shape " << labels;
  }
  ctx->SetOutputShape("loss", 0, rows);
  ctx->SetOutputShape("probability", 0, logits);
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType logits = ctx->InputDType("logits", 0);
  const DataType labels = ctx->InputDType("labels", 0);
  if (!IsFloatingDataType(logits)) {
    return Error::TypeError() << "logits must be floating point, but is " << logits;
  }
  if (!IsFloatingDataType(labels) && !IsIntegralDataType(labels)) {
    return Error::TypeError() << "labels must be of integers, or whole numbers in floating point, but is "
                              << labels;
  }
  ctx->SetOutputDType("loss", 0, logits);
  ctx->SetOutputDType("probability", 0, logits);
  return Maybe<void>::Ok();
}

/* Rows can be split. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  ctx->NewBuilder().Split(ctx->inputs(), 0).Split(ctx->outputs(), 0).Build();
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("dlogits", 0, ctx->InputShape("probability", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferGradDataType(user_op::InferContext* ctx) {
  ctx->SetOutputDType("dlogits", 0, ctx->InputDType("probability", 0));
  return Maybe<void>::Ok();
}

/* Labels have no gradient. Without need_top_grad the loss is the last op, and nothing comes in from above. */
Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    const bool is_last = !ctx->FwOp().attr<bool>("need_top_grad");
    builder.OpTypeName(is_last ? "softmax_cross_entropy_backward_of_sum" : "softmax_cross_entropy_backward")
        .InputBind("labels", ctx->FwOp().input("labels", 0))
        .InputBind("probability", ctx->FwOp().output("probability", 0))
        .Output("dlogits");
    if (!is_last) {
      builder.InputBind("dloss", ctx->FwOp().output_grad("loss", 0))
          .InputBind("dprobability", ctx->FwOp().output_grad("probability", 0));
    }
    return builder.Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("logits", 0),
                            [&] { return ctx->GetOp(grad).output("dlogits", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("softmax_cross_entropy_forward")
    .Input("logits")
    .Input("labels")
    .Output("loss")
    .Output("probability")
    .Attr<bool>("need_top_grad", true)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("softmax_cross_entropy_backward")
    .Input("labels")
    .Input("probability")
    .Input("dloss")
    .Input("dprobability")
    .Output("dlogits")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(InferGradDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("softmax_cross_entropy_backward_of_sum")
    .Input("labels")
    .Input("probability")
    .Output("dlogits")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(InferGradDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP_GRAD("softmax_cross_entropy_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
