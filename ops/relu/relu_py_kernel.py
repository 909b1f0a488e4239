import numpy as np


def forward(args):
    (x,) = args
    return np.maximum(x, 0)


# Derived from forward by "python -m pykernels derive" (86c21d723cb1). If you edit it, remove this line.
def backward(args):
    y, dy = args
    return np.where(y > 0, dy, 0)


# Derived from backward by "python -m pykernels derive --second" (20acf47bcf3f). If you edit it, remove this line.
def backward_backward(args):
    y, gdx = args
    return np.where(y > 0, gdx, 0)


# Derived from backward by "python -m pykernels derive --forward-mode" (20acf47bcf3f). If you edit it, remove this line.
def tangent(args):
    y, tx = args
    return np.where(y > 0, tx, 0)
