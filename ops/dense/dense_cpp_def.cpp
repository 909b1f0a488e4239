#include "oneflow/core/framework/framework.h"

// y = data @ weight.T + bias. Without a bias, which every part would add, the sum over inputs can be split as well.
REGISTER_USER_OP("dense_forward")
    .Input("data", "floating[rows, inputs]")
    .Input("weight", "floating[outputs, inputs]")
    .Output("y", "floating[rows, outputs]")
    .Attr<float>("bias", 0)
    .Split("rows")
    .Split("outputs")
    .Split("inputs", "bias == 0")
    .Backward("data, weight, dy -> ddata, dweight")
    .Backward("data, weight, dy, gddata, gdweight -> gdata, gweight, gdy")
    .Tangent("data, weight, tdata, tweight -> ty");
