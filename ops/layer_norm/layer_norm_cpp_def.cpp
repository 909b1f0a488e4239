#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> CheckAttributes(user_op::InferContext* ctx) {
  const Shape& x = ctx->InputShape("x", 0);
  const int32_t axis = ctx->Attr<int32_t>("axis");
  const double eps = ctx->Attr<double>("eps");
  if (x.NumAxes() == 0) { return Error::RuntimeError() << "x must have one axis or more, but has none"; }
  if (axis != -1 && axis != x.NumAxes() - 1) {
    return Error::ValueError() << "axis is " << axis
                               << ", but only the last axis of x can be normalized: -1 or " << x.NumAxes() - 1
                               << " for the shape " << x;
  }
  if (!(eps >= 0)) { return Error::ValueError() << "eps must not be negative, but is " << eps; }
  return Maybe<void>::Ok();
}

/* gamma, beta: one number for each element of the last axis of x. */
Maybe<void> CheckParameter(user_op::InferContext* ctx, const std::string& name) {
  const Shape& x = ctx->InputShape("x", 0);
  const Shape wanted({x.At(x.NumAxes() - 1)});
  const Shape& shape = ctx->InputShape(name, 0);
  if (shape != wanted) {
    return Error::RuntimeError() << name << " must have the shape of the last axis of x, " << wanted
                                 << ", but has " << shape;
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  JUST(CheckAttributes(ctx));
  JUST(CheckParameter(ctx, "gamma"));
  JUST(CheckParameter(ctx, "beta"));
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType dtype = ctx->InputDType("x", 0);
  if (!IsFloatingDataType(dtype)) {
    return Error::TypeError() << "x must be floating point, but is " << dtype;
  }
  return user_op::TensorDescInferFnUtil::UnchangedDataType(ctx);
}

/* Any axis can be split but the last. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg x("x", 0), gamma("gamma", 0), beta("beta", 0), y("y", 0);
  const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape().NumAxes();
  FOR_RANGE(int64_t, axis, 0, axes - 1) {
    ctx->NewBuilder().Split(x, axis).Broadcast({gamma, beta}).Split(y, axis).Build();
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  const Shape& x = ctx->InputShape("x", 0);
  const Shape& dy = ctx->InputShape("dy", 0);
  JUST(CheckParameter(ctx, "gamma"));
  if (dy != x) { return Error::RuntimeError() << "dy must have the shape of x, " << x << ", but has " << dy; }
  ctx->SetOutputShape("dx", 0, x);
  ctx->SetOutputShape("dgamma", 0, ctx->InputShape("gamma", 0));
  ctx->SetOutputShape("dbeta", 0, ctx->InputShape("gamma", 0));
  return Maybe<void>::Ok();
}

Maybe<void> GetGradSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg x("x", 0), gamma("gamma", 0), dy("dy", 0), dx("dx", 0), dgamma("dgamma", 0),
      dbeta("dbeta", 0);
  const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape().NumAxes();
  FOR_RANGE(int64_t, axis, 0, axes - 1) {
    ctx->NewBuilder()
        .Split({x, dy}, axis)
        .Broadcast(gamma)
        .Split(dx, axis)
        .PartialSum({dgamma, dbeta})
        .Build();
  }
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("layer_norm_backward")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("gamma", ctx->FwOp().input("gamma", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Output("dgamma")
        .Output("dbeta")
        .Attr("eps", ctx->FwOp().attr<double>("eps"))
        .Build();
  });
  for (const char* name : {"x", "gamma", "beta"}) {
    ctx->FwOp().InputGradBind(user_op::OpArg(name, 0),
                              [&] { return ctx->GetOp(grad).output("d" + std::string(name), 0); });
  }
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("layer_norm_forward")
    .Input("x")
    .Input("gamma")
    .Input("beta")
    .Output("y")
    .Attr<int32_t>("axis", -1)
    .Attr<double>("eps", 1e-5)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("layer_norm_backward")
    .Input("x")
    .Input("gamma")
    .Input("dy")
    .Output("dx")
    .Output("dgamma")
    .Output("dbeta")
    .Attr<double>("eps", 1e-5)
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn(GetGradSbp);

REGISTER_USER_OP_GRAD("layer_norm_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
