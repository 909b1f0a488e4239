#include "oneflow/core/framework/framework.h"

// A region of interest is the number of an image and two corners: image, x1, y1, x2, y2.
REGISTER_USER_OP("roi_align_forward")
    .Input("data", "floating[batch, channels, height, width]")
    .Input("rois", "floating[rois, 5]")
    .Output("y", "floating[rois, channels, pooled_height, pooled_width]")
    .Attr<int32_t>("pooled_height")
    .Attr<int32_t>("pooled_width")
    .Attr<float>("spatial_scale", 1)
    .Attr<int32_t>("sampling_ratio", -1)
    .Attr<bool>("aligned", false)
    .Require("height > 0")
    .Require("width > 0")
    .Require("pooled_height > 0")
    .Require("pooled_width > 0")
    .Require("spatial_scale > 0")
    .Split("channels")
    .Split("rois")
    .Backward("data, rois, dy -> ddata")
    .Backward("gddata, rois -> gdy")
    .Tangent("tdata, rois -> ty");
