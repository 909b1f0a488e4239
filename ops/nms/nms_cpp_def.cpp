#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> CheckAttributes(user_op::InferContext* ctx) {
  const float iou_threshold = ctx->Attr<float>("iou_threshold");
  const int32_t max_output = ctx->Attr<int32_t>("max_output");
  if (!(iou_threshold >= 0 && iou_threshold <= 1)) {
    return Error::ValueError() << "iou_threshold must be from 0 to 1, but is " << iou_threshold;
  }
  if (max_output < -1) {
    return Error::ValueError() << "max_output must be -1 (no limit), 0 or more, but is " << max_output;
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  JUST(CheckAttributes(ctx));
  const Shape& boxes = ctx->InputShape("boxes", 0);
  const Shape& scores = ctx->InputShape("scores", 0);
  if (boxes.NumAxes() != 2 || boxes.At(1) != 4) {
    return Error::RuntimeError() << "boxes must have the shape (boxes, 4), (x1, y1, x2, y2) for each box, "
                                 << "but its shape is " << boxes;
  }
  const Shape one_each({boxes.At(0)});
  if (scores != one_each) {
    return Error::RuntimeError() << "scores must have one number for each box, " << one_each
                                 << ", but has the shape " << scores;
  }
  ctx->SetOutputShape("indices", 0, one_each);
  ctx->SetOutputShape("count", 0, Shape({1}));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType boxes = ctx->InputDType("boxes", 0);
  const DataType scores = ctx->InputDType("scores", 0);
  if (!IsFloatingDataType(boxes)) {
    return Error::TypeError() << "boxes must be floating point, but is " << boxes;
  }
  if (scores != boxes) {
    return Error::TypeError() << "scores must have the dtype of boxes, " << boxes << ", but is " << scores;
  }
  ctx->SetOutputDType("indices", 0, DataType::kInt32);
  ctx->SetOutputDType("count", 0, DataType::kInt32);
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("nms_forward")
    .Input("boxes")
    .Input("scores")
    .Output("indices")
    .Output("count")
    .Attr<float>("iou_threshold", 0.5)
    .Attr<float>("score_threshold", 0)
    .Attr<int32_t>("max_output", -1)
    .NoGrad()
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(user_op::GetSbpFnUtil::DefaultBroadcastToBroadcast);

}  // namespace oneflow
