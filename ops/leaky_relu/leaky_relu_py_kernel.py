import numpy as np


def forward(args, *, alpha):
    (x,) = args
    return np.where(x > 0, x, alpha * x)


# Derived from forward by "python -m pykernels derive" (343d0fea85f7). If you edit it, remove this line.
def backward(args, *, alpha):
    x, dy = args
    return np.where(x > 0, dy, alpha * dy)


# Derived from backward by "python -m pykernels derive --second" (11daa8367882). If you edit it, remove this line.
def backward_backward(args, *, alpha):
    x, gdx = args
    return np.where(x > 0, gdx, alpha * gdx)


# Derived from backward by "python -m pykernels derive --forward-mode" (11daa8367882). If you edit it, remove this line.
def tangent(args, *, alpha):
    x, tx = args
    return np.where(x > 0, tx, alpha * tx)
