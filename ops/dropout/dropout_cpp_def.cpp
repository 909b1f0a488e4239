#include "oneflow/core/framework/framework.h"

// Which elements are dropped depends on their place in the whole tensor, so it cannot be split.
REGISTER_USER_OP("dropout_forward")
    .Input("x", "floating[...]")
    .Output("y", "floating[...]")
    .Output("mask", "floating[...]")
    .Attr<float>("p", 0.5)
    .Attr<int64_t>("seed", 0)
    .Require("0 <= p < 1")
    .Require("seed >= 0")
    .Backward("mask, dy -> dx")
    .Backward("mask, dy, gdx -> gmask, gdy")
    .Tangent("mask, tx -> ty");
