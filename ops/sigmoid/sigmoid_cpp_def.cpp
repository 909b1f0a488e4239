#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("sigmoid_forward")
    .Input("x", "floating[...]")
    .Output("y", "floating[...]")
    .Split("...")
    .Backward("y, dy -> dx")
    .Backward("y, dy, gdx -> gy, gdy")
    .Tangent("y, tx -> ty");
