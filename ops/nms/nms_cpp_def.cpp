#include "oneflow/core/framework/framework.h"

// The corners of a box are x1, y1, x2, y2. A max_output of -1 is no limit.
REGISTER_USER_OP("nms_forward")
    .Input("boxes", "floating[boxes, 4]")
    .Input("scores", "floating[boxes]")
    .Output("indices", "int32[boxes]")
    .Output("count", "int32[1]")
    .Attr<float>("iou_threshold", 0.5)
    .Attr<float>("score_threshold", 0)
    .Attr<int32_t>("max_output", -1)
    .Require("0 <= iou_threshold <= 1")
    .Require("max_output >= -1")
    .NoGrad();
