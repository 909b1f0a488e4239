import numpy as np


def forward(args, *, eps):
    x, gamma, beta = args
    mean, rstd = _moments(x, eps)
    return (x - mean) * rstd * gamma + beta


def backward(args, *, eps):
    x, gamma, dy = args
    mean, rstd = _moments(x, eps)
    z, g = (x - mean) * rstd, dy * gamma
    slope, along = g.mean(axis=-1, keepdims=True), (g * z).mean(axis=-1, keepdims=True)
    rows = tuple(range(x.ndim - 1))
    return rstd * (g - slope - along * z), (dy * z).sum(axis=rows), dy.sum(axis=rows)


def _moments(x, eps):
    """The mean of each row, and the inverse of its standard deviation."""
    return x.mean(axis=-1, keepdims=True), 1 / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
