import numpy as np


def forward(args, *, eps, momentum, axis, is_train):
    x, gamma, beta, moving_mean, moving_var = args
    blocks = _blocks(x, axis)
    mean, var = _statistics(blocks, moving_mean, moving_var, is_train)
    if is_train:
        moving_mean[...] = momentum * moving_mean + (1 - momentum) * mean
        moving_var[...] = momentum * moving_var + (1 - momentum) * var
    scale = gamma / np.sqrt(var + eps)
    shift = beta - mean * scale
    return (blocks * _column(scale) + _column(shift)).reshape(x.shape)


def backward(args, *, eps, axis, is_train):
    dy, x, gamma, moving_mean, moving_var = args
    blocks, dblocks = _blocks(x, axis), _blocks(dy, axis)
    mean, var = _statistics(blocks, moving_mean, moving_var, is_train)
    rstd = 1 / np.sqrt(var + eps)
    normal = (blocks - _column(mean)) * _column(rstd)
    dgamma = (dblocks * normal).sum(axis=2).sum(axis=0)
    dbeta = dblocks.sum(axis=2).sum(axis=0)
    dx = dblocks
    if is_train:
        # The statistics depend on x, too.
        n = blocks.shape[0] * blocks.shape[2]
        dx = dblocks - (_column(dbeta) + normal * _column(dgamma)) / n
    return (dx * _column(gamma * rstd)).reshape(x.shape), dgamma, dbeta


def _statistics(blocks, moving_mean, moving_var, is_train):
    """Mean and variance of every channel: of this batch in training, else the moving ones."""
    if not is_train:
        return moving_mean.copy(), moving_var.copy()
    n = blocks.shape[0] * blocks.shape[2]
    mean = blocks.sum(axis=2).sum(axis=0) / n
    centered = blocks - _column(mean)
    return mean, (centered * centered).sum(axis=2).sum(axis=0) / n


def _column(channels):
    """Numbers for every channel, to be combined with blocks."""
    return channels.reshape(1, channels.size, 1)


def _blocks(x, axis):
    """`x` with the axes before `axis` made one, and those after it: ``(outer, channels, inner)``."""
    axis %= x.ndim
    outer, inner = 1, 1
    for i, size in enumerate(x.shape):
        if i < axis:
            outer *= size
        elif i > axis:
            inner *= size
    return np.ascontiguousarray(x).reshape(outer, x.shape[axis], inner)
