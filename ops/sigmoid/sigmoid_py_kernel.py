import numpy as np


def forward(args):
    (x,) = args
    # exp only ever sees numbers <= 0, so it cannot overflow, and small results keep all their digits.
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def backward(args):
    y, dy = args
    return dy * y * (1 - y)
