#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> CheckAttributes(user_op::InferContext* ctx) {
  for (const char* name : {"pooled_height", "pooled_width"}) {
    const int32_t size = ctx->Attr<int32_t>(name);
    if (size < 1) { return Error::ValueError() << name << " must be 1 or more, but is " << size; }
  }
  const float scale = ctx->Attr<float>("spatial_scale");
  if (!(scale > 0)) {
    return Error::ValueError() << "spatial_scale must be greater than 0, but is " << scale;
  }
  return Maybe<void>::Ok();
}

Maybe<void> CheckShapes(user_op::InferContext* ctx) {
  const Shape& data = ctx->InputShape("data", 0);
  const Shape& rois = ctx->InputShape("rois", 0);
  if (data.NumAxes() != 4) {
    return Error::RuntimeError() << "data must have 4 axes (batch, channels, height, width), but its shape "
                                 << "is " << data;
  }
  if (rois.NumAxes() != 2 || rois.At(1) != 5) {
    return Error::RuntimeError() << "rois must have the shape (rois, 5), (batch, x1, y1, x2, y2) for each "
                                 << "of them, but its shape is " << rois;
  }
  if (data.At(2) == 0 || data.At(3) == 0) {
    return Error::RuntimeError() << "data must have a height and a width of 1 or more, but its shape is "
                                 << data;
  }
  return Maybe<void>::Ok();
}

Shape PooledShape(user_op::InferContext* ctx) {
  return Shape({ctx->InputShape("rois", 0).At(0), ctx->InputShape("data", 0).At(1),
                ctx->Attr<int32_t>("pooled_height"), ctx->Attr<int32_t>("pooled_width")});
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  JUST(CheckAttributes(ctx));
  JUST(CheckShapes(ctx));
  ctx->SetOutputShape("y", 0, PooledShape(ctx));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType data = ctx->InputDType("data", 0);
  if (!IsFloatingDataType(data)) {
    return Error::TypeError() << "data must be floating point, but is " << data;
  }
  return user_op::TensorDescInferFnUtil::UnchangedDataType(ctx);
}

/* Channels can be split, and regions. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg data("data", 0), rois("rois", 0), y("y", 0);
  ctx->NewBuilder().Split(data, 1).Broadcast(rois).Split(y, 1).Build();
  ctx->NewBuilder().Broadcast(data).Split(rois, 0).Split(y, 0).Build();
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  JUST(CheckShapes(ctx));
  const Shape& dy = ctx->InputShape("dy", 0);
  const Shape y = PooledShape(ctx);
  if (dy != y) { return Error::RuntimeError() << "dy must have the shape of y, " << y << ", but has " << dy; }
  ctx->SetOutputShape("ddata", 0, ctx->InputShape("data", 0));
  return Maybe<void>::Ok();
}

Maybe<void> GetGradSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg data("data", 0), rois("rois", 0), dy("dy", 0), ddata("ddata", 0);
  ctx->NewBuilder().Split(data, 1).Broadcast(rois).Split(dy, 1).Split(ddata, 1).Build();
  ctx->NewBuilder().Broadcast(data).Split(rois, 0).Split(dy, 0).PartialSum(ddata).Build();
  return Maybe<void>::Ok();
}

/* Regions have no gradient. */
Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("roi_align_backward")
        .InputBind("data", ctx->FwOp().input("data", 0))
        .InputBind("rois", ctx->FwOp().input("rois", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("ddata")
        .Attr("pooled_height", ctx->FwOp().attr<int32_t>("pooled_height"))
        .Attr("pooled_width", ctx->FwOp().attr<int32_t>("pooled_width"))
        .Attr("spatial_scale", ctx->FwOp().attr<float>("spatial_scale"))
        .Attr("sampling_ratio", ctx->FwOp().attr<int32_t>("sampling_ratio"))
        .Attr("aligned", ctx->FwOp().attr<bool>("aligned"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("data", 0),
                            [&] { return ctx->GetOp(grad).output("ddata", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("roi_align_forward")
    .Input("data")
    .Input("rois")
    .Output("y")
    .Attr<int32_t>("pooled_height")
    .Attr<int32_t>("pooled_width")
    .Attr<float>("spatial_scale", 1)
    .Attr<int32_t>("sampling_ratio", -1)
    .Attr<bool>("aligned", false)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("roi_align_backward")
    .Input("data")
    .Input("rois")
    .Input("dy")
    .Output("ddata")
    .Attr<int32_t>("pooled_height")
    .Attr<int32_t>("pooled_width")
    .Attr<float>("spatial_scale", 1)
    .Attr<int32_t>("sampling_ratio", -1)
    .Attr<bool>("aligned", false)
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(GetGradSbp);

REGISTER_USER_OP_GRAD("roi_align_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
