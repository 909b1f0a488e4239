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
