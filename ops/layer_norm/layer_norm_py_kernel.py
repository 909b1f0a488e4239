import math

import numpy as np


def forward(args, *, eps):
    x, gamma, beta = args
    n = gamma.size
    rows = x.reshape(x.size // max(n, 1), n)
    y = np.empty_like(rows)
    for i in range(len(rows)):
        mean, rstd = _moments(rows[i], eps)
        for j in range(n):
            y[i, j] = (rows[i, j] - mean) * rstd * gamma[j] + beta[j]
    return y.reshape(x.shape)


def backward(args, *, eps):
    x, gamma, dy = args
    n = gamma.size
    rows, dy_rows = x.reshape(x.size // max(n, 1), n), dy.reshape(x.size // max(n, 1), n)
    dx = np.empty_like(rows)
    dgamma, dbeta = np.zeros(n), np.zeros(n)
    for i in range(len(rows)):
        mean, rstd = _moments(rows[i], eps)
        slope, along = np.float64(0), np.float64(0)
        for j in range(n):
            z = (rows[i, j] - mean) * rstd
            dgamma[j] += dy_rows[i, j] * z
            dbeta[j] += dy_rows[i, j]
            slope += dy_rows[i, j] * gamma[j]
            along += dy_rows[i, j] * gamma[j] * z
        for j in range(n):
            z = (rows[i, j] - mean) * rstd
            dx[i, j] = rstd * (dy_rows[i, j] * gamma[j] - (slope + along * z) / n)
    return dx.reshape(x.shape), dgamma.astype(gamma.dtype), dbeta.astype(gamma.dtype)


def _moments(row, eps):
    """The mean of a row and the inverse of its standard deviation, summed in float64."""
    mean, variance = np.float64(0), np.float64(0)
    for value in row:
        mean += value
    mean /= row.size
    for value in row:
        variance += (value - mean) ** 2
    return mean, 1 / math.sqrt(variance / row.size + eps)
