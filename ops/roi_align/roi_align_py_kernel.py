import math

import numpy as np

import pykernels


def forward(args, outs, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    (data, rois), (y,) = args, outs
    batch, channels, height, width = data.shape
    for r in pykernels.prange(len(rois)):
        b = _image_of(rois[r, 0], r, batch)
        y0, y1, x0, x1 = rois[r, 2], rois[r, 4], rois[r, 1], rois[r, 3]
        rows, row_weights = _taps(y0, y1, spatial_scale, pooled_height, sampling_ratio, height, aligned)
        columns, column_weights = _taps(x0, x1, spatial_scale, pooled_width, sampling_ratio, width, aligned)
        first, last = columns[0, 0], columns[-1, -1]
        line = np.empty(last + 1 - first)
        for c in range(channels):
            for i in range(pooled_height):
                # Interpolate along the height first, for all columns at once, then along the width.
                line[:] = 0
                for k in range(rows.shape[1]):
                    _add(line, row_weights[i, k], data[b, c, rows[i, k], first : first + line.size])
                for j in range(pooled_width):
                    total = np.float64(0)
                    for m in range(columns.shape[1]):
                        total += column_weights[j, m] * line[columns[j, m] - first]
                    y[r, c, i, j] = total


def backward(args, outs, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    (data, rois, dy), (ddata,) = args, outs
    batch, channels, height, width = data.shape
    ddata[:] = 0
    for r in range(len(rois)):
        b = _image_of(rois[r, 0], r, batch)
        y0, y1, x0, x1 = rois[r, 2], rois[r, 4], rois[r, 1], rois[r, 3]
        rows, row_weights = _taps(y0, y1, spatial_scale, pooled_height, sampling_ratio, height, aligned)
        columns, column_weights = _taps(x0, x1, spatial_scale, pooled_width, sampling_ratio, width, aligned)
        first, last = columns[0, 0], columns[-1, -1]
        line = np.empty(last + 1 - first)
        for c in range(channels):
            for i in range(pooled_height):
                line[:] = 0
                for j in range(pooled_width):
                    for m in range(columns.shape[1]):
                        line[columns[j, m] - first] += column_weights[j, m] * dy[r, c, i, j]
                for k in range(rows.shape[1]):
                    _add(ddata[b, c, rows[i, k], first : first + line.size], row_weights[i, k], line)


# The result is linear in the data.


def backward_backward(args, outs, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    forward(
        args,
        outs,
        pooled_height=pooled_height,
        pooled_width=pooled_width,
        spatial_scale=spatial_scale,
        sampling_ratio=sampling_ratio,
        aligned=aligned,
    )


def tangent(args, outs, *, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned):
    forward(
        args,
        outs,
        pooled_height=pooled_height,
        pooled_width=pooled_width,
        spatial_scale=spatial_scale,
        sampling_ratio=sampling_ratio,
        aligned=aligned,
    )


def _add(target, weight, values):
    for i in range(target.size):
        target[i] += weight * values[i]


def _image_of(number, r, batch):
    b = int(number)
    if b != number:
        raise ValueError(f"the image of rois[{r}] is not a whole number")
    if b < 0 or b >= batch:
        raise IndexError(f"rois[{r}] is of image {b}, but data holds images 0 to {batch - 1}")
    return b


def _taps(begin, end, scale, bins, ratio, size, aligned):
    """The pixels along one axis that make up the mean of each bin, and their weights.

    A bin takes samples at equal distances; each is the linear interpolation of two pixels, or 0 outside of the image.
    """
    offset = 0.5 if aligned else 0.0
    begin, end = begin * scale - offset, end * scale - offset
    length = end - begin if aligned else max(end - begin, 1.0)
    if not (0 < length < np.inf):
        raise ValueError("every region must be finite and, if aligned, have a height and a width greater than 0")
    step = length / bins
    n = ratio if ratio > 0 else math.ceil(step)
    share = 1 / n
    pixels, weights = np.empty((bins, 2 * n), np.int64), np.empty((bins, 2 * n))
    for i in range(bins):
        for k in range(n):
            at = begin + (i + (k + 0.5) * share) * step
            weight = share if -1 <= at <= size else 0.0
            at = min(max(at, 0.0), size - 1.0)
            low = int(at)
            pixels[i, 2 * k], pixels[i, 2 * k + 1] = low, min(low + 1, size - 1)
            weights[i, 2 * k], weights[i, 2 * k + 1] = (low + 1 - at) * weight, (at - low) * weight
    return pixels, weights
