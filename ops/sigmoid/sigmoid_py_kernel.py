import numpy as np


def forward(args):
    (x,) = args
    # exp only ever sees numbers <= 0, so it cannot overflow, and small results keep all their digits.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def backward(args):
    y, dy = args
    return dy * y * (1 - y)


# Derived from backward by "python -m pykernels derive --second" (6fa17bac2497). If you edit it, remove this line.
def backward_backward(args):
    y, dy, gdx = args
    product = gdx * (1 - y)
    gy = product * dy - gdx * (dy * y)
    gdy = product * y
    return gy, gdy


# Derived from backward by "python -m pykernels derive --forward-mode" (6fa17bac2497). If you edit it, remove this line.
def tangent(args):
    y, tx = args
    return tx * (1 - y) * y
