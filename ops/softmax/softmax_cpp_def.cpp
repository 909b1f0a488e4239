#include "oneflow/core/framework/framework.h"

REGISTER_USER_OP("softmax_forward")
    .Input("x", "floating[... with axis = classes]")
    .Output("y", "floating[... with axis = classes]")
    .Attr<int32_t>("axis", -1)
    .Split("...")
    .Backward("y, dy -> dx")
    .Backward("y, dy, gdx -> gy, gdy")
    .Tangent("y, tx -> ty");
