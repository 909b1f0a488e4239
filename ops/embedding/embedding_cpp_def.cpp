#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

/* One row of weight[rows, columns] for each index. */
Maybe<void> InferShape(user_op::InferContext* ctx) {
  const Shape& weight = ctx->InputShape("weight", 0);
  if (weight.NumAxes() != 2) {
    return Error::RuntimeError() << "weight must have 2 axes (rows, columns), but its shape is " << weight;
  }
  Shape y = ctx->InputShape("indices", 0);
  y.push_back(weight.At(1));
  ctx->SetOutputShape("y", 0, y);
  return Maybe<void>::Ok();
}

Maybe<void> InferDataType(user_op::InferContext* ctx) {
  const DataType indices = ctx->InputDType("indices", 0);
  const DataType weight = ctx->InputDType("weight", 0);
  if (!IsFloatingDataType(indices) && !IsIntegralDataType(indices)) {
    return Error::TypeError() << "indices must be of integers, or whole numbers in floating point, but is "
                              << indices;
  }
  if (!IsFloatingDataType(weight)) {
    return Error::TypeError() << "weight must be floating point, but is " << weight;
  }
  ctx->SetOutputDType("y", 0, weight);
  return Maybe<void>::Ok();
}

/* The indices can be split along any axis, the weight by its columns. */
Maybe<void> GetSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg indices("indices", 0), weight("weight", 0), y("y", 0);
  const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("indices", 0).shape().NumAxes();
  FOR_RANGE(int64_t, axis, 0, axes) {
    ctx->NewBuilder().Split(indices, axis).Broadcast(weight).Split(y, axis).Build();
  }
  ctx->NewBuilder().Broadcast(indices).Split(weight, 1).Split(y, axes).Build();
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("dweight", 0, ctx->InputShape("weight", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferGradDataType(user_op::InferContext* ctx) {
  ctx->SetOutputDType("dweight", 0, ctx->InputDType("weight", 0));
  return Maybe<void>::Ok();
}

Maybe<void> GetGradSbp(user_op::SbpContext* ctx) {
  const user_op::OpArg indices("indices", 0), weight("weight", 0), dy("dy", 0), dweight("dweight", 0);
  const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("indices", 0).shape().NumAxes();
  FOR_RANGE(int64_t, axis, 0, axes) {
    ctx->NewBuilder().Split(indices, axis).Broadcast(weight).Split(dy, axis).PartialSum(dweight).Build();
  }
  ctx->NewBuilder().Broadcast(indices).Split(weight, 1).Split(dy, axes).Split(dweight, 1).Build();
  return Maybe<void>::Ok();
}

/* Indices have no gradient. */
Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("embedding_backward")
        .InputBind("indices", ctx->FwOp().input("indices", 0))
        .InputBind("weight", ctx->FwOp().input("weight", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dweight")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("weight", 0),
                            [&] { return ctx->GetOp(grad).output("dweight", 0); });
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("embedding_forward")
    .Input("indices")
    .Input("weight")
    .Output("y")
    .SetLogicalTensorDescInferFn(InferShape)
    .SetDataTypeInferFn(InferDataType)
    .SetGetSbpFn(GetSbp);

REGISTER_USER_OP("embedding_backward")
    .Input("indices")
    .Input("weight")
    .Input("dy")
    .Output("dweight")
    .SetLogicalTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn(InferGradDataType)
    .SetGetSbpFn(GetGradSbp);

REGISTER_USER_OP_GRAD("embedding_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
