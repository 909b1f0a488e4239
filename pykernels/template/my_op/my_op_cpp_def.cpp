// What the op is, in OneFlow's registration language.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

// One input, one output of its shape. The dtype of an output is that of the first input, unless said otherwise.
Maybe<void> InferForward(user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

Maybe<void> InferBackward(user_op::InferContext* ctx) {
  ctx->SetOutputShape("dx", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}

}  // namespace

// The op that users call, computed by `forward` of the kernel file.
REGISTER_USER_OP("my_op_forward")
    .Input("x")
    .Output("y")
    .Attr<double>("scale", 1.0)
    .SetLogicalTensorDescInferFn(InferForward);

// Its gradient, computed by `backward`: from an input and the gradient of the output, the gradient of that input.
REGISTER_USER_OP("my_op_backward")
    .Input("x")
    .Input("dy")
    .Output("dx")
    .Attr<double>("scale", 1.0)
    .SetLogicalTensorDescInferFn(InferBackward);

// Which tensors of the forward pass the backward one gets, and which of its outputs is the gradient of which input.
REGISTER_USER_OP_GRAD("my_op_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      const std::string gradient = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(gradient, [ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("my_op_backward")
            .InputBind("x", ctx->FwOp().input("x", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("dx")
            .Attr("scale", ctx->FwOp().attr<double>("scale"))
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [ctx, gradient]() -> const std::string& {
        return ctx->GetOp(gradient).output("dx", 0);
      });
      return Maybe<void>::Ok();
    });

}  // namespace oneflow
