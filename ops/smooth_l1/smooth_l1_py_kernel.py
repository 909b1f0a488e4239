import numpy as np


def forward(args, *, scalar):
    (x,) = args
    square = scalar * scalar
    # Up to `near` the loss is a parabola; beyond, a line that continues its slope at `near`.
    size = np.abs(x)
    near = np.minimum(size, 1 / square)
    return square * near * (size - 0.5 * near)


def backward(args, *, scalar):
    x, dy = args
    return dy * np.minimum(np.maximum(scalar * scalar * x, -1), 1)


# Derived from backward by "python -m pykernels derive --second" (9bda5c90b60f). If you edit it, remove this line.
def backward_backward(args, *, scalar):
    x, dy, gdx = args
    product = scalar * scalar
    product2 = product * x
    term = np.maximum(product2, -1)
    gx = np.where(product2 > -1, np.where(term <= 1, product * (gdx * dy), 0), 0)
    gdy = gdx * np.minimum(term, 1)
    return gx, gdy


# Derived from backward by "python -m pykernels derive --forward-mode" (9bda5c90b60f). If you edit it, remove this line.
def tangent(args, *, scalar):
    x, tx = args
    return tx * np.minimum(np.maximum(scalar * scalar * x, -1), 1)
