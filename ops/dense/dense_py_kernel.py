def forward(args, *, bias):
    data, weight = args
    return data @ weight.T + bias


# Derived from forward by "python -m pykernels derive" (1eaefb7705ec). If you edit it, remove this line.
def backward(args):
    data, weight, dy = args
    ddata = dy @ weight
    dweight = dy.T @ data
    return ddata, dweight


# Derived from backward by "python -m pykernels derive --forward-mode" (554a43b60a5e). If you edit it, remove this line.
def tangent(args):
    data, weight, tdata, tweight = args
    return data @ tweight.T + tdata @ weight.T


# Derived from backward by "python -m pykernels derive --second" (554a43b60a5e). If you edit it, remove this line.
def backward_backward(args):
    data, weight, dy, gddata, gdweight = args
    gdata = dy @ gdweight
    gweight = dy.T @ gddata
    gdy = data @ gdweight.T + gddata @ weight.T
    return gdata, gweight, gdy
