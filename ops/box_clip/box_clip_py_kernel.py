import numpy as np


def forward(args, *, height, width):
    (boxes,) = args
    corners = boxes.reshape(boxes.size // 2, 2)
    y = np.empty_like(corners)
    y[:, 0] = np.minimum(np.maximum(corners[:, 0], 0), width)
    y[:, 1] = np.minimum(np.maximum(corners[:, 1], 0), height)
    return y.reshape(boxes.shape)


def backward(args, *, height, width):
    boxes, dy = args
    corners, dy_corners = boxes.reshape(boxes.size // 2, 2), dy.reshape(dy.size // 2, 2)
    x, y = corners[:, 0], corners[:, 1]
    dboxes = np.empty_like(corners)
    dboxes[:, 0] = np.where((x >= 0) & (x <= width), dy_corners[:, 0], 0)
    dboxes[:, 1] = np.where((y >= 0) & (y <= height), dy_corners[:, 1], 0)
    return dboxes.reshape(boxes.shape)
