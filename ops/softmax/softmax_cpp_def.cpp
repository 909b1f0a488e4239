#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

/* The attribute `axis`, counted from the first axis of `shape`. */
Maybe<int64_t> Axis(int32_t axis, const Shape& shape) {
  if (shape.NumAxes() == 0) { return Error::RuntimeError() << "x must have one axis or more, but has none"; }
  if (axis < -shape.NumAxes() || axis >= shape.NumAxes()) {
    return Error::IndexError() << "axis is " << axis << ", but x has " << shape.NumAxes()
                               << (shape.NumAxes() == 1 ? " axis" : " axes") << " (its shape is " << shape
                               << ")";
  }
  return axis < 0 ? axis + shape.NumAxes() : static_cast<int64_t>(axis);
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const Shape& x = ctx->InputShape("x", 0);
  JUST(Axis(ctx->Attr<int32_t>("axis"), x));
  ctx->SetOutputShape("y", 0, x);
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
  JUST(Axis(ctx->Attr<int32_t>("axis"), y));
  ctx->SetOutputShape("dx", 0, y);
  return Maybe<void>::Ok();
}

/* Any axis can be split but the one that is summed over. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const auto& first = ctx->inputs()[0];
  const Shape& shape = ctx->LogicalTensorDesc4InputArgNameAndIndex(first.first, first.second).shape();
  const int64_t summed = JUST(Axis(ctx->Attr<int32_t>("axis"), shape));
  FOR_RANGE(int64_t, axis, 0, shape.NumAxes()) {
    if (axis != summed) { ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build(); }
  }
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("softmax_backward")
        .InputBind("y", ctx->FwOp().output("y", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Attr("axis", ctx->FwOp().attr<int32_t>("axis"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("softmax_forward")
    .Input("x")
    .Output("y")
    .Attr<int32_t>("axis", -1)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("softmax_backward")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .Attr<int32_t>("axis", -1)
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP_GRAD("softmax_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
