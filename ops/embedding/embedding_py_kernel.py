def forward(args, outs):
    (indices, weight), (y,) = args, outs
    rows, columns = weight.shape
    flat, y_rows = indices.reshape(indices.size), y.reshape(indices.size, columns)
    for i in range(indices.size):
        row = _row_of(flat[i], rows)
        for j in range(columns):
            y_rows[i, j] = weight[row, j]


def backward(args, outs):
    (indices, weight, dy), (dweight,) = args, outs
    columns = weight.shape[1]
    flat, dy_rows = indices.reshape(indices.size), dy.reshape(indices.size, columns)
    dweight[...] = 0
    for i in range(indices.size):
        row = int(flat[i])
        for j in range(columns):
            dweight[row, j] += dy_rows[i, j]


def backward_backward(args, outs):
    forward(args, outs)


def tangent(args, outs):
    forward(args, outs)


def _row_of(index, rows):
    row = int(index)
    if row != index:
        raise ValueError("an index is not a whole number")
    if row < 0 or row >= rows:
        raise IndexError(f"index {row} is out of range: weight has {rows} rows")
    return row
