def forward(args, *, bias):
    data, weight = args
    return data @ weight.T + bias


def backward(args):
    data, weight, dy = args
    return dy @ weight, dy.T @ data


# Derived from backward by "python -m pykernels derive --forward-mode" (38fcbb333744). If you edit it, remove this line.
def tangent(args):
    data, weight, tdata, tweight = args
    return data @ tweight.T + tdata @ weight.T


# Derived from backward by "python -m pykernels derive --second" (38fcbb333744). If you edit it, remove this line.
def backward_backward(args):
    data, weight, dy, gddata, gdweight = args
    gdata = dy @ gdweight
    gweight = dy.T @ gddata
    gdy = data @ gdweight.T + gddata @ weight.T
    return gdata, gweight, gdy
