#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("focal_loss_forward")
    .Input("logits", "floating[...]")
    .Input("targets", "number[...]")
    .Output("loss", "floating[...]")
    .Attr<float>("alpha", 0.25)
    .Attr<float>("gamma", 2)
    .Require("0 <= alpha <= 1")
    .Require("gamma >= 0")
    .Split("...")
    .Backward("logits, targets, dloss -> dlogits")
    .Backward("logits, targets, dloss, gdlogits -> glogits, gdloss")
    .Tangent("logits, targets, tlogits -> tloss");
