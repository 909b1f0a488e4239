#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("relu_forward")
    .Input("x", "number[...]")
    .Output("y", "number[...]")
    .Split("...")
    .Backward("y, dy -> dx")
    .Backward("y, gdx -> gdy")
    .Tangent("y, tx -> ty");
