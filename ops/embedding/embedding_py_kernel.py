import numpy as np


def forward(args):
    indices, weight = args
    rows, columns = weight.shape
    flat = indices.reshape(indices.size)
    y = np.empty((indices.size, columns), weight.dtype)
    for i in range(indices.size):
        y[i] = weight[_row_of(flat[i], rows)]
    return y.reshape((*indices.shape, columns))


def backward(args):
    indices, weight, dy = args
    flat, dy_rows = indices.reshape(indices.size), dy.reshape(indices.size, weight.shape[1])
    dweight = np.zeros_like(weight)
    for i in range(indices.size):
        dweight[int(flat[i])] += dy_rows[i]
    return dweight


def _row_of(index, rows):
    row = int(index)
    if row != index:
        raise ValueError("an index is no whole number")
    if row < 0 or row >= rows:
        raise IndexError(f"index {row} is out of range: weight has {rows} rows")
    return row
