#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> CheckSize(user_op::InferContext* ctx, const std::string& name) {
  const float size = ctx->Attr<float>(name);
  if (!(size >= 0)) { return Error::ValueError() << name << " must not be negative, but is " << size; }
  return Maybe<void>::Ok();
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const Shape& boxes = ctx->InputShape("boxes", 0);
  if (boxes.NumAxes() == 0 || boxes.At(boxes.NumAxes() - 1) != 4) {
    return Error::RuntimeError() << "boxes must have 4 numbers (x1, y1, x2, y2) along the last axis, but its "
                                 << "shape is " << boxes;
  }
  JUST(CheckSize(ctx, "height"));
  JUST(CheckSize(ctx, "width"));
  ctx->SetOutputShape("y", 0, boxes);
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType dtype = ctx->InputDType("boxes", 0);
  if (!IsFloatingDataType(dtype)) {
    return Error::TypeError() << "boxes must be floating point, but is " << dtype;
  }
  ctx->SetOutputDType("y", 0, dtype);
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  const Shape& boxes = ctx->InputShape("boxes", 0);
  const Shape& dy = ctx->InputShape("dy", 0);
  if (dy != boxes) {
    return Error::RuntimeError() << "dy must have the shape of boxes, " << boxes << ", but has " << dy;
  }
  ctx->SetOutputShape("dboxes", 0, boxes);
  return Maybe<void>::Ok();
}

/* Any axis can be split but the last, along which the numbers differ in meaning. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const Shape& boxes = ctx->LogicalTensorDesc4InputArgNameAndIndex("boxes", 0).shape();
  FOR_RANGE(int64_t, axis, 0, boxes.NumAxes() - 1) {
    ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
  }
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("box_clip_backward")
        .InputBind("boxes", ctx->FwOp().input("boxes", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dboxes")
        .Attr("height", ctx->FwOp().attr<float>("height"))
        .Attr("width", ctx->FwOp().attr<float>("width"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("boxes", 0),
                            [&] { return ctx->GetOp(grad).output("dboxes", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("box_clip_forward")
    .Input("boxes")
    .Output("y")
    .Attr<float>("height")
    .Attr<float>("width")
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("box_clip_backward")
    .Input("boxes")
    .Input("dy")
    .Output("dboxes")
    .Attr<float>("height")
    .Attr<float>("width")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP_GRAD("box_clip_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
