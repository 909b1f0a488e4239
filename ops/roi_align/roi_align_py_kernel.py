import math

import numpy as np


def forward(args, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    data, rois = args
    batch, channels, height, width = data.shape
    boxes = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    y = np.empty((len(rois), channels, pooled_height, pooled_width), data.dtype)
    for r in range(len(rois)):
        b = _image_of(rois[r, 0], r, batch)
        rows, row_weights = _taps(boxes[r, 1], boxes[r, 3], pooled_height, sampling_ratio, height, aligned)
        columns, column_weights = _taps(boxes[r, 0], boxes[r, 2], pooled_width, sampling_ratio, width, aligned)
        for c in range(channels):
            for i in range(pooled_height):
                for j in range(pooled_width):
                    total = np.float64(0)
                    for k in range(rows.shape[1]):
                        for m in range(columns.shape[1]):
                            weight = row_weights[i, k] * column_weights[j, m]
                            total += weight * data[b, c, rows[i, k], columns[j, m]]
                    y[r, c, i, j] = total
    return y


def backward(args, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    data, rois, dy = args
    batch, channels, height, width = data.shape
    boxes = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    ddata = np.zeros_like(data)
    for r in range(len(rois)):
        b = _image_of(rois[r, 0], r, batch)
        rows, row_weights = _taps(boxes[r, 1], boxes[r, 3], pooled_height, sampling_ratio, height, aligned)
        columns, column_weights = _taps(boxes[r, 0], boxes[r, 2], pooled_width, sampling_ratio, width, aligned)
        for c in range(channels):
            for i in range(pooled_height):
                for j in range(pooled_width):
                    for k in range(rows.shape[1]):
                        for m in range(columns.shape[1]):
                            weight = row_weights[i, k] * column_weights[j, m]
                            ddata[b, c, rows[i, k], columns[j, m]] += weight * dy[r, c, i, j]
    return ddata


def _image_of(number, r, batch):
    b = int(number)
    if b != number:
        raise ValueError(f"the image of rois[{r}] is no whole number")
    if b < 0 or b >= batch:
        raise IndexError(f"rois[{r}] is of image {b}, but data holds images 0 to {batch - 1}")
    return b


def _taps(begin, end, bins, ratio, size, aligned):
    """The pixels along one axis that make up the mean of each bin, and their weights.

    A bin takes samples at equal distances; each is the linear interpolation of two pixels, or 0 outside of the image.
    """
    length = end - begin if aligned else max(end - begin, 1.0)
    if not (0 < length < np.inf):
        raise ValueError("every region must be finite and, if aligned, have a height and a width greater than 0")
    step = length / bins
    n = ratio if ratio > 0 else math.ceil(step)
    pixels, weights = np.zeros((bins, 2 * n), np.int64), np.zeros((bins, 2 * n))
    for i in range(bins):
        for k in range(n):
            at = begin + (i + (k + 0.5) / n) * step
            if -1 <= at <= size:
                at = min(max(at, 0.0), size - 1.0)
                low = int(at)
                pixels[i, 2 * k], weights[i, 2 * k] = low, (low + 1 - at) / n
                pixels[i, 2 * k + 1], weights[i, 2 * k + 1] = min(low + 1, size - 1), (at - low) / n
    return pixels, weights
