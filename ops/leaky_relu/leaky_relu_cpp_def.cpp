#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("leaky_relu_forward")
    .Input("x", "floating[...]")
    .Output("y", "floating[...]")
    .Attr<float>("alpha", 0.01)
    .Split("...")
    .Backward("x, dy -> dx")
    .Backward("x, gdx -> gdy")
    .Tangent("x, tx -> ty");
