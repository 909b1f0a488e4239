import math

import numpy as np

import pykernels


def forward(args, outs, *, eps):
    (x, gamma, beta), (y,) = args, outs
    n = gamma.size
    rows, y_rows = x.reshape(x.size // max(n, 1), n), y.reshape(x.size // max(n, 1), n)
    for i in pykernels.prange(len(rows)):
        mean, rstd = _moments(rows[i], eps)
        for j in range(n):
            y_rows[i, j] = (rows[i, j] - mean) * rstd * gamma[j] + beta[j]


def backward(args, outs, *, eps):
    (x, gamma, dy), (dx, dgamma, dbeta) = args, outs
    n = gamma.size
    rows, dy_rows = x.reshape(x.size // max(n, 1), n), dy.reshape(x.size // max(n, 1), n)
    dx_rows = dx.reshape(rows.shape)
    dgamma_sum, dbeta_sum = np.zeros(n), np.zeros(n)
    for i in range(len(rows)):
        mean, rstd = _moments(rows[i], eps)
        slope, along = np.float64(0), np.float64(0)
        for j in range(n):
            z = (rows[i, j] - mean) * rstd
            dgamma_sum[j] += dy_rows[i, j] * z
            dbeta_sum[j] += dy_rows[i, j]
            slope += dy_rows[i, j] * gamma[j]
            along += dy_rows[i, j] * gamma[j] * z
        for j in range(n):
            z = (rows[i, j] - mean) * rstd
            dx_rows[i, j] = rstd * (dy_rows[i, j] * gamma[j] - (slope + along * z) / n)
    for j in range(n):
        dgamma[j], dbeta[j] = dgamma_sum[j], dbeta_sum[j]


def _moments(row, eps):
    """The mean of a row and the inverse of its standard deviation, summed in float64."""
    mean, variance = np.float64(0), np.float64(0)
    for j in range(row.size):
        mean += row[j]
    mean /= row.size
    for j in range(row.size):
        variance += (row[j] - mean) ** 2
    return mean, 1 / math.sqrt(variance / row.size + eps)
