#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("smooth_l1_forward")
    .Input("x", "floating[...]")
    .Output("y", "floating[...]")
    .Attr<float>("scalar", 1)
    .Require("scalar > 0")
    .Split("...")
    .Backward("x, dy -> dx")
    .Backward("x, dy, gdx -> gx, gdy")
    .Tangent("x, tx -> ty");
