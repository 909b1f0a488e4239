import numpy as np

# One array of rows per dtype serves as scratch memory, since another array costs more than a few elements.


def forward(args, outs, *, eps, momentum, axis, is_train):
    (x, gamma, beta, moving_mean, moving_var), (y,) = args, outs
    shape = _blocks(x.shape, axis)
    blocks = x.reshape(shape)
    # An empty batch does not change the moving statistics.
    learns = is_train and x.size > 0
    stats = _statistics(blocks, learns)
    mean, var = stats[0], stats[1]
    factors = np.empty((2, gamma.size), gamma.dtype)
    scale, shift = factors[0], factors[1]
    for c in range(gamma.size):
        if learns:
            moving_mean[c] = momentum * moving_mean[c] + (1 - momentum) * mean[c]
            moving_var[c] = momentum * moving_var[c] + (1 - momentum) * var[c]
        else:
            mean[c], var[c] = moving_mean[c], moving_var[c]
        scale[c] = gamma[c] / np.sqrt(var[c] + eps)
        shift[c] = beta[c] - mean[c] * scale[c]
    _scale(blocks, scale, shift, y.reshape(shape))


def backward(args, outs, *, eps, axis, is_train):
    (dy, x, gamma, moving_mean, moving_var), (dx, dgamma, dbeta) = args, outs
    shape = _blocks(x.shape, axis)
    blocks, dy_blocks = x.reshape(shape), dy.reshape(shape)
    learns = is_train and x.size > 0
    stats = _statistics(blocks, learns)
    mean, var, along, total = stats[0], stats[1], stats[2], stats[3]
    if not learns:
        for c in range(gamma.size):
            mean[c], var[c] = moving_mean[c], moving_var[c]
    _add_sums(blocks, dy_blocks, mean, along, total)
    # dx is a * dy + b * x + d. It depends on x because the statistics do, in training.
    factors = np.empty((3, gamma.size), gamma.dtype)
    a, b, d = factors[0], factors[1], factors[2]
    n = shape[0] * shape[2]
    for c in range(gamma.size):
        rstd = 1 / np.sqrt(var[c] + eps)
        slope, tilt = gamma[c] * rstd, 0.0
        dgamma[c], dbeta[c], a[c], d[c] = along[c] * rstd, total[c], slope, 0
        if learns:
            tilt = slope * along[c] * rstd * rstd / n
            d[c] = tilt * mean[c] - slope * total[c] / n
        b[c] = -tilt
    _combine(dy_blocks, blocks, a, b, d, dx.reshape(shape))


def backward_backward(args, *, eps, axis, is_train):
    dy, x, gamma, moving_mean, moving_var, gdx, gdgamma, gdbeta = args
    shape = _blocks(x.shape, axis)
    dy_blocks, gdx_blocks, blocks = dy.reshape(shape), gdx.reshape(shape), x.reshape(shape)
    gain, rows = gamma[:, None], gdgamma[:, None]
    if is_train and x.size > 0:
        mean = blocks.mean(axis=(0, 2), keepdims=True)
        centred = blocks - mean
        rstd = 1 / np.sqrt((centred * centred).mean(axis=(0, 2), keepdims=True) + eps)
        normal = centred * rstd
        # dx is gamma * rstd * across: `normal` moves only across its mean and itself.
        along = (dy_blocks * normal).mean(axis=(0, 2), keepdims=True)
        galong = (gdx_blocks * normal).mean(axis=(0, 2), keepdims=True)
        across = dy_blocks - dy_blocks.mean(axis=(0, 2), keepdims=True) - along * normal
        gacross = gdx_blocks - gdx_blocks.mean(axis=(0, 2), keepdims=True) - galong * normal
        both = (gdx_blocks * across).mean(axis=(0, 2), keepdims=True)
        gx = rstd * (rows * across - gain * rstd * (both * normal + along * gacross + galong * across))
    else:
        rstd = 1 / np.sqrt(moving_var[None, :, None] + eps)
        normal = (blocks - moving_mean[:, None]) * rstd
        across, gacross = dy_blocks, gdx_blocks
        gx = rows * rstd * dy_blocks
    gdy = gain * rstd * gacross + rows * normal + gdbeta[:, None]
    ggamma = (gdx_blocks * across * rstd).sum(axis=(0, 2))
    return gdy.reshape(x.shape), gx.reshape(x.shape), ggamma


def _statistics(blocks, learns):
    """Mean and variance of every channel of a batch, if it counts, in float64; two rows of zeros; and their sums."""
    outer, channels, inner = blocks.shape
    stats = np.zeros((7, channels))
    if learns:
        n = outer * inner
        # A channel's first value is near its mean: relative to it, one pass computes the variance as exactly as two.
        mean, var, near, sums, squares = stats[0], stats[1], stats[4], stats[5], stats[6]
        for c in range(channels):
            near[c] = blocks[0, c, 0]
        _add_moments(blocks, near, sums, squares)
        for c in range(channels):
            offset = sums[c] / n
            mean[c], var[c] = near[c] + offset, max(squares[c] / n - offset * offset, 0.0)
    return stats


# If the channels lie side by side in memory, the loops run along them.


def _add_moments(blocks, near, sums, squares):
    """For every channel, add the sums of ``x - near`` and of its square."""
    outer, channels, inner = blocks.shape
    for o in range(outer):
        if inner == 1:
            x = blocks[o].reshape(channels)
            for c in range(channels):
                offset = x[c] - near[c]
                sums[c] += offset
                squares[c] += offset * offset
        else:
            for c in range(channels):
                origin, s, q = near[c], np.float64(0), np.float64(0)
                for i in range(inner):
                    offset = blocks[o, c, i] - origin
                    s += offset
                    q += offset * offset
                sums[c] += s
                squares[c] += q


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


def _scale(blocks, scale, shift, results):
    """``scale * x + shift`` in every channel."""
    outer, channels, inner = blocks.shape
    for o in range(outer):
        if inner == 1:
            x, y = blocks[o].reshape(channels), results[o].reshape(channels)
            for c in range(channels):
                y[c] = scale[c] * x[c] + shift[c]
        else:
            for c in range(channels):
                a, b = scale[c], shift[c]
                for i in range(inner):
                    results[o, c, i] = a * blocks[o, c, i] + b


def _combine(p, q, a, b, d, results):
    """``a * p + b * q + d`` in every channel."""
    outer, channels, inner = p.shape
    for o in range(outer):
        if inner == 1:
            p_row, q_row, row = p[o].reshape(channels), q[o].reshape(channels), results[o].reshape(channels)
            for c in range(channels):
                row[c] = a[c] * p_row[c] + b[c] * q_row[c] + d[c]
        else:
            for c in range(channels):
                a_c, b_c, d_c = a[c], b[c], d[c]
                for i in range(inner):
                    results[o, c, i] = a_c * p[o, c, i] + b_c * q[o, c, i] + d_c


def _blocks(shape, axis):
    """`shape` with the axes before `axis` made one, and those after it: ``(outer, channels, inner)``."""
    axis %= len(shape)
    outer, inner = 1, 1
    for i, size in enumerate(shape):
        if i < axis:
            outer *= size
        elif i > axis:
            inner *= size
    return outer, shape[axis], inner
