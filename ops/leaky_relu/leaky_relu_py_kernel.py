import numpy as np


def forward(args, *, alpha):
    (x,) = args
    return np.where(x > 0, x, alpha * x)


def backward(args, *, alpha):
    x, dy = args
    return np.where(x > 0, dy, alpha * dy)
