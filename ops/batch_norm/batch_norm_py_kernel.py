import numpy as np


def forward(args, outs, *, eps, momentum, axis, is_train):
    (x, gamma, beta, moving_mean, moving_var), (y,) = args, outs
    blocks, y_blocks = _blocks(x, axis), _blocks(y, axis)
    mean, var = _statistics(blocks, moving_mean, moving_var, is_train)
    scale, shift = np.empty_like(gamma), np.empty_like(gamma)
    for c in range(gamma.size):
        if is_train:
            moving_mean[c] = momentum * moving_mean[c] + (1 - momentum) * mean[c]
            moving_var[c] = momentum * moving_var[c] + (1 - momentum) * var[c]
        scale[c] = gamma[c] / np.sqrt(var[c] + eps)
        shift[c] = beta[c] - mean[c] * scale[c]
    _combine(blocks, scale, blocks, np.zeros_like(gamma), shift, y_blocks)


def backward(args, outs, *, eps, axis, is_train):
    (dy, x, gamma, moving_mean, moving_var), (dx, dgamma, dbeta) = args, outs
    blocks, dy_blocks = _blocks(x, axis), _blocks(dy, axis)
    mean, var = _statistics(blocks, moving_mean, moving_var, is_train)
    along, total = _sums(blocks, mean, dy_blocks)
    # dx is a * dy + b * x + d. It depends on x since, in training, the statistics do.
    a, b, d = np.empty_like(gamma), np.zeros_like(gamma), np.zeros_like(gamma)
    n = blocks.shape[0] * blocks.shape[2]
    for c in range(gamma.size):
        rstd = 1 / np.sqrt(var[c] + eps)
        slope = gamma[c] * rstd
        dgamma[c], dbeta[c], a[c] = along[c] * rstd, total[c], slope
        if is_train:
            tilt = slope * along[c] * rstd * rstd / n
            b[c], d[c] = -tilt, tilt * mean[c] - slope * total[c] / n
    _combine(dy_blocks, a, blocks, b, d, _blocks(dx, axis))


def _statistics(blocks, moving_mean, moving_var, is_train):
    """Mean and variance of every channel, in float64: of this batch in training, else the moving ones."""
    if not is_train:
        return moving_mean.astype(np.float64), moving_var.astype(np.float64)
    n = blocks.shape[0] * blocks.shape[2]
    _, total = _sums(blocks, np.zeros(blocks.shape[1]), blocks)
    mean = total / n
    return mean, _squares(blocks, mean) / n


# Where the channels lie side by side in memory, the loops go along them.


def _sums(blocks, mean, dy_blocks):
    """For every channel, the sums of ``dy * (x - mean)`` and of `dy`."""
    outer, channels, inner = blocks.shape
    along, total = np.zeros(channels), np.zeros(channels)
    for o in range(outer):
        if inner == 1:
            x, dy = blocks[o].reshape(channels), dy_blocks[o].reshape(channels)
            for c in range(channels):
                along[c] += dy[c] * (x[c] - mean[c])
                total[c] += dy[c]
        else:
            for c in range(channels):
                centre, a, t = mean[c], np.float64(0), np.float64(0)
                for i in range(inner):
                    a += dy_blocks[o, c, i] * (blocks[o, c, i] - centre)
                    t += dy_blocks[o, c, i]
                along[c] += a
                total[c] += t
    return along, total


def _squares(blocks, mean):
    """For every channel, the sum of ``(x - mean) ** 2``."""
    outer, channels, inner = blocks.shape
    squares = np.zeros(channels)
    for o in range(outer):
        if inner == 1:
            x = blocks[o].reshape(channels)
            for c in range(channels):
                squares[c] += (x[c] - mean[c]) ** 2
        else:
            for c in range(channels):
                centre, s = mean[c], np.float64(0)
                for i in range(inner):
                    s += (blocks[o, c, i] - centre) ** 2
                squares[c] += s
    return squares


def _combine(p, a, q, b, d, results):
    """``a * p + b * q + d`` in every channel."""
    outer, channels, inner = p.shape
    for o in range(outer):
        if inner == 1:
            p_row, q_row, r = p[o].reshape(channels), q[o].reshape(channels), results[o].reshape(channels)
            for c in range(channels):
                r[c] = a[c] * p_row[c] + b[c] * q_row[c] + d[c]
        else:
            for c in range(channels):
                a_c, b_c, d_c = a[c], b[c], d[c]
                for i in range(inner):
                    results[o, c, i] = a_c * p[o, c, i] + b_c * q[o, c, i] + d_c


def _blocks(x, axis):
    """`x` with the axes before `axis` made one, and those after it: ``(outer, channels, inner)``."""
    axis %= x.ndim
    outer, inner = 1, 1
    for i, size in enumerate(x.shape):
        if i < axis:
            outer *= size
        elif i > axis:
            inner *= size
    return x.reshape(outer, x.shape[axis], inner)
