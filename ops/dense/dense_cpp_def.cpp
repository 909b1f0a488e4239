#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

/* y[rows, outputs] = data[rows, inputs] @ weight[outputs, inputs].T + bias */
Maybe<void> CheckShapes(const Shape& data, const Shape& weight) {
  if (data.NumAxes() != 2) {
    return Error::RuntimeError() << "data must have 2 axes (rows, inputs), but its shape is " << data;
  }
  if (weight.NumAxes() != 2) {
    return Error::RuntimeError() << "weight must have 2 axes (outputs, inputs), but its shape is " << weight;
  }
  if (weight.At(1) != data.At(1)) {
    return Error::RuntimeError() << "data has " << data.At(1) << " inputs a row and weight takes "
                                 << weight.At(1) << ": data is " << data << " (rows, inputs), weight is "
                                 << weight << " (outputs, inputs)";
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferShape(user_op::InferContext* ctx) {
  const Shape& data = ctx->InputShape("data", 0);
  const Shape& weight = ctx->InputShape("weight", 0);
  JUST(CheckShapes(data, weight));
  ctx->SetOutputShape("y", 0, Shape({data.At(0), weight.At(0)}));
  return Maybe<void>::Ok();
}

Maybe<void> CheckDataTypes(user_op::InferContext* ctx) {
  const DataType data = ctx->InputDType("data", 0);
  const DataType weight = ctx->InputDType("weight", 0);
  if (!IsFloatingDataType(data)) {
    return Error::TypeError() << "data must be floating point, but is " << data;
  }
  if (weight != data) {
    return Error::TypeError() << "weight must have the dtype of data, " << data << ", but is " << weight;
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  JUST(CheckDataTypes(ctx));
  ctx->SetOutputDType("y", 0, ctx->InputDType("data", 0));
  return Maybe<void>::Ok();
}

/* Rows can be split, and outputs. Inputs can be split as well, which leaves sums of parts: only without a bias, which
 * every part would add. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg data("data", 0), weight("weight", 0), y("y", 0);
  ctx->NewBuilder().Split(data, 0).Broadcast(weight).Split(y, 0).Build();
  ctx->NewBuilder().Broadcast(data).Split(weight, 0).Split(y, 1).Build();
  if (ctx->Attr<float>("bias") == 0) {
    ctx->NewBuilder().Split(data, 1).Split(weight, 1).PartialSum(y).Build();
  }
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  const Shape& data = ctx->InputShape("data", 0);
  const Shape& weight = ctx->InputShape("weight", 0);
  const Shape& dy = ctx->InputShape("dy", 0);
  JUST(CheckShapes(data, weight));
  const Shape y({data.At(0), weight.At(0)});
  if (dy != y) { return Error::RuntimeError() << "dy must have the shape of y, " << y << ", but has " << dy; }
  ctx->SetOutputShape("ddata", 0, data);
  ctx->SetOutputShape("dweight", 0, weight);
  return Maybe<void>::Ok();
}

Maybe<void> InferGradDataType(user_op::InferContext* ctx) {
  JUST(CheckDataTypes(ctx));
  ctx->SetOutputDType("ddata", 0, ctx->InputDType("data", 0));
  ctx->SetOutputDType("dweight", 0, ctx->InputDType("weight", 0));
  return Maybe<void>::Ok();
}

Maybe<void> GetGradSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg data("data", 0), weight("weight", 0), dy("dy", 0), ddata("ddata", 0),
      dweight("dweight", 0);
  ctx->NewBuilder().Split(data, 0).Broadcast(weight).Split(dy, 0).Split(ddata, 0).PartialSum(dweight).Build();
  ctx->NewBuilder().Broadcast(data).Split(weight, 0).Split(dy, 1).PartialSum(ddata).Split(dweight, 0).Build();
  ctx->NewBuilder().Split(data, 1).Split(weight, 1).Broadcast(dy).Split(ddata, 1).Split(dweight, 1).Build();
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("dense_backward")
        .InputBind("data", ctx->FwOp().input("data", 0))
        .InputBind("weight", ctx->FwOp().input("weight", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("ddata")
        .Output("dweight")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("data", 0), [&] { return ctx->GetOp(grad).output("ddata", 0); });
  ctx->FwOp().InputGradBind(user_op::OpArg("weight", 0),
                            [&] { return ctx->GetOp(grad).output("dweight", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("dense_forward")
    .Input("data")
    .Input("weight")
    .Output("y")
    .Attr<float>("bias", 0)
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("dense_backward")
    .Input("data")
    .Input("weight")
    .Input("dy")
    .Output("ddata")
    .Output("dweight")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(InferGradDataType)
    .SetGetSbpFn(GetGradSbp);

REGISTER_USER_OP_GRAD("dense_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
