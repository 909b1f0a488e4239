#include "oneflow/core/framework/framework.h"

// The last axis holds the corners of a box: x1, y1, x2, y2.
REGISTER_USER_OP("box_clip_forward")
    .Input("boxes", "floating[..., 4]")
    .Output("y", "floating[..., 4]")
    .Attr<float>("height")
    .Attr<float>("width")
    .Require("height >= 0")
    .Require("width >= 0")
    .Split("...")
    .Backward("boxes, dy -> dboxes")
    .Backward("boxes, gdboxes -> gdy")
    .Tangent("boxes, tboxes -> ty");
