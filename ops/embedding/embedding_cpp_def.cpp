#include "oneflow/core/framework/framework.h"

// One row of the weight for each index. Indices are integers, or whole numbers in floating point.
REGISTER_USER_OP("embedding_forward")
    .Input("indices", "number[...]")
    .Input("weight", "floating[rows, columns]")
    .Output("y", "floating[..., columns]")
    .Split("...")
    .Split("columns")
    .Backward("indices, weight, dy -> dweight")
    .Backward("indices, gdweight -> gdy")
    .Tangent("indices, tweight -> ty");
