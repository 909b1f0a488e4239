import numpy as np

import pykernels


def forward(args, outs, *, axis):
    (x,), (y,) = args, outs
    outer, n, inner = _split(x.shape, axis)
    x_blocks, y_blocks = x.reshape(outer, n, inner), y.reshape(outer, n, inner)
    for i in pykernels.prange(outer):
        if inner == 1:
            _softmax_of_row(x_blocks[i].reshape(n), y_blocks[i].reshape(n))
        else:
            _softmax_of_columns(x_blocks[i], y_blocks[i])


def backward(args, outs, *, axis):
    (y, dy), (dx,) = args, outs
    outer, n, inner = _split(y.shape, axis)
    y_blocks, dy_blocks = y.reshape(outer, n, inner), dy.reshape(outer, n, inner)
    dx_blocks = dx.reshape(outer, n, inner)
    for i in pykernels.prange(outer):
        if inner == 1:
            _gradient_of_row(y_blocks[i].reshape(n), dy_blocks[i].reshape(n), dx_blocks[i].reshape(n))
        else:
            _gradient_of_columns(y_blocks[i], dy_blocks[i], dx_blocks[i])


def backward_backward(args, *, axis):
    y, dy, gdx = args
    product = gdx * y
    total = product.sum(axis=axis, keepdims=True)
    gy = gdx * (dy - (y * dy).sum(axis=axis, keepdims=True)) - total * dy
    return gy, product - total * y


def tangent(args, *, axis):
    y, tx = args
    product = tx * y
    return product - product.sum(axis=axis, keepdims=True) * y


def _softmax_of_row(x, y):
    # Subtracting the largest element does not change the result, and exp cannot overflow.
    top = x.dtype.type(-np.inf)
    for k in range(x.size):
        top = max(top, x[k])
    total = x.dtype.type(0)
    for k in range(x.size):
        e = np.exp(x[k] - top)
        y[k] = e
        total += e
    for k in range(x.size):
        y[k] /= total


def _softmax_of_columns(x, y):
    n, inner = x.shape
    top, total = np.full(inner, -np.inf, x.dtype), np.zeros(inner, x.dtype)
    for k in range(n):
        for i in range(inner):
            top[i] = max(top[i], x[k, i])
    for k in range(n):
        for i in range(inner):
            e = np.exp(x[k, i] - top[i])
            y[k, i] = e
            total[i] += e
    for k in range(n):
        for i in range(inner):
            y[k, i] /= total[i]


def _gradient_of_row(y, dy, dx):
    along = y.dtype.type(0)
    for k in range(y.size):
        along += y[k] * dy[k]
    for k in range(y.size):
        dx[k] = y[k] * (dy[k] - along)


def _gradient_of_columns(y, dy, dx):
    n, inner = y.shape
    along = np.zeros(inner, y.dtype)
    for k in range(n):
        for i in range(inner):
            along[i] += y[k, i] * dy[k, i]
    for k in range(n):
        for i in range(inner):
            dx[k, i] = y[k, i] * (dy[k, i] - along[i])


def _split(shape, axis):
    """How many elements there are before, along and after `axis`."""
    axis %= len(shape)
    outer, inner = 1, 1
    for i, size in enumerate(shape):
        if i < axis:
            outer *= size
        elif i > axis:
            inner *= size
    return outer, shape[axis], inner
