import numpy as np


def forward(args):
    (x,) = args
    return np.tanh(x)


# Derived from forward by "python -m pykernels derive" (450db579dd06). If you edit it, remove this line.
def backward(args):
    y, dy = args
    return dy * (1 - y * y)


# Derived from backward by "python -m pykernels derive --second" (a42a68eefe56). If you edit it, remove this line.
def backward_backward(args):
    y, dy, gdx = args
    gy = -2 * gdx * dy * y
    gdy = gdx * (1 - y * y)
    return gy, gdy


# Derived from backward by "python -m pykernels derive --forward-mode" (a42a68eefe56). If you edit it, remove this line.
def tangent(args):
    y, tx = args
    return tx * (1 - y * y)
