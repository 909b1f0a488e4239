#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

// Labels have no gradient. Without need_top_grad the loss is the last op, and nothing comes in from above.
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

// Labels are integers, or whole numbers in floating point.
REGISTER_USER_OP("softmax_cross_entropy_forward")
    .Input("logits", "floating[rows, classes]")
    .Input("labels", "number[rows]")
    .Output("loss", "floating[rows]")
    .Output("probability", "floating[rows, classes]")
    .Attr<bool>("need_top_grad", true)
    .Split("rows")
    .Tangent("labels, probability, tlogits -> tloss, tprobability");

REGISTER_USER_OP("softmax_cross_entropy_backward")
    .Input("labels", "number[rows]")
    .Input("probability", "floating[rows, classes]")
    .Input("dloss", "floating[rows]")
    .Input("dprobability", "floating[rows, classes]")
    .Output("dlogits", "floating[rows, classes]")
    .Split("rows")
    .Backward("labels, probability, dloss, dprobability, gdlogits -> gprobability, gdloss, gdprobability");

REGISTER_USER_OP("softmax_cross_entropy_backward_of_sum")
    .Input("labels", "number[rows]")
    .Input("probability", "floating[rows, classes]")
    .Output("dlogits", "floating[rows, classes]")
    .Split("rows");

REGISTER_USER_OP_GRAD("softmax_cross_entropy_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
