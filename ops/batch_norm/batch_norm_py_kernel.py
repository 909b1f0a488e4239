import numpy as np

# Scratch memory is one array of rows for each dtype: what an array costs is more than what a few elements do.


def forward(args, outs, *, eps, momentum, axis, is_train):
    (x, gamma, beta, moving_mean, moving_var), (y,) = args, outs
    blocks = _blocks(x, axis)
    learns = is_train and x.size > 0
    stats = _statistics(blocks, moving_mean, moving_var, learns)
    mean, var = stats[0], stats[1]
    factors = np.zeros((3, gamma.size), gamma.dtype)
    scale, shift = factors[0], factors[2]
    for c in range(gamma.size):
        if learns:
            moving_mean[c] = momentum * moving_mean[c] + (1 - momentum) * mean[c]
            moving_var[c] = momentum * moving_var[c] + (1 - momentum) * var[c]
        scale[c] = gamma[c] / np.sqrt(var[c] + eps)
        shift[c] = beta[c] - mean[c] * scale[c]
    _combine(blocks, blocks, factors, _blocks(y, axis))


def backward(args, outs, *, eps, axis, is_train):
    (dy, x, gamma, moving_mean, moving_var), (dx, dgamma, dbeta) = args, outs
    blocks, dy_blocks = _blocks(x, axis), _blocks(dy, axis)
    learns = is_train and x.size > 0
    stats = _statistics(blocks, moving_mean, moving_var, learns)
    mean, var, along, total = stats[0], stats[1], stats[2], stats[3]
    _add_sums(blocks, dy_blocks, mean, along, total)
    # dx is a * dy + b * x + d. It depends on x since, in training, the statistics do.
    factors = np.zeros((3, gamma.size), gamma.dtype)
    a, b, d = factors[0], factors[1], factors[2]
    n = blocks.shape[0] * blocks.shape[2]
    for c in range(gamma.size):
        rstd = 1 / np.sqrt(var[c] + eps)
        slope = gamma[c] * rstd
        dgamma[c], dbeta[c], a[c] = along[c] * rstd, total[c], slope
        if learns:
            tilt = slope * along[c] * rstd * rstd / n
            b[c], d[c] = -tilt, tilt * mean[c] - slope * total[c] / n
    _combine(dy_blocks, blocks, factors, _blocks(dx, axis))


def _statistics(blocks, moving_mean, moving_var, learns):
    """Mean and variance of every channel, in float64: of this batch in training, else the moving ones.

    A batch without elements has none, and nothing is learnt from it. They are the first two of five rows; the next two
    are zeros.
    """
    stats = np.zeros((5, blocks.shape[1]))
    mean, var = stats[0], stats[1]
    n = blocks.shape[0] * blocks.shape[2]
    if learns:
        _add_sums(blocks, blocks, var, stats[4], mean)
    for c in range(mean.size):
        mean[c] = mean[c] / n if learns else moving_mean[c]
        var[c] = 0 if learns else moving_var[c]
    if learns:
        _add_squares(blocks, mean, var)
        for c in range(mean.size):
            var[c] = var[c] / n
    return stats


# Where the channels lie side by side in memory, the loops go along them.


def _add_sums(blocks, dy_blocks, mean, along, total):
    """For every channel, add the sums of ``dy * (x - mean)`` and of `dy`."""
    outer, channels, inner = blocks.shape
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


def _add_squares(blocks, mean, squares):
    """For every channel, add the sum of ``(x - mean) ** 2``."""
    outer, channels, inner = blocks.shape
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


def _combine(p, q, factors, results):
    """``a * p + b * q + d`` in every channel; these are the rows of `factors`."""
    a, b, d = factors[0], factors[1], factors[2]
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
