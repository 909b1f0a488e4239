#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("layer_norm_forward")
    .Input("x", "floating[..., features]")
    .Input("gamma", "floating[features]")
    .Input("beta", "floating[features]")
    .Output("y", "floating[..., features]")
    .Attr<int32_t>("axis", -1)
    .Attr<double>("eps", 1e-5)
    .Require("axis == -1 or axis == x.ndim - 1")
    .Require("eps >= 0")
    .Split("...")
    .Backward("x, gamma, dy -> dx, dgamma, dbeta")
    .Backward("x, gamma, dy, dx, gdx, gdgamma, gdbeta -> gx, ggamma, gdy")
    .Tangent("x, gamma, tx, tgamma, tbeta -> ty");
