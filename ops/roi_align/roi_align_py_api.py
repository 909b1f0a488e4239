from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels

_roi_align = pykernels.user_op_builder("roi_align").Op("roi_align_forward").Output("y").Function("data", "rois")


def roi_align(
    data: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
    **options: Any,
) -> Any:
    """Cut regions of images into bins of equal size and take each bin's mean, without rounding to pixels.

    A bin's mean is the mean of equally spaced samples, each interpolated from the four pixels around it (He et al.,
    "Mask R-CNN", arXiv:1703.06870, section 3), as MXNet's ``contrib.ROIAlign``. Samples more than a pixel outside of
    the image are 0.

    Parameters
    ----------
    data : tensor
        Floating point, of shape ``(batch, channels, height, width)``.
    rois : tensor
        Of shape ``(regions, 5)`` and the dtype of `data`: ``(image, x1, y1, x2, y2)``; without a gradient.
    pooled_height, pooled_width : int
        The number of bins of a region along each axis.
    spatial_scale : float
        The factor of coordinates: the size of `data` divided by that of the image in which regions are measured.
    sampling_ratio : int
        The number of samples of a bin along each axis; -1 or 0 for about one per pixel.
    aligned : bool
        Whether the centre of the first pixel is at 0.5 rather than 0. If False, regions are at least one pixel large.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of shape ``(regions, channels, pooled_height, pooled_width)`` and the kind and dtype of `data`.

    Raises
    ------
    KernelError
        A region is of an image that does not exist (MXNet takes -1 for padding, this op does not), is not finite, or,
        if `aligned`, is empty.
    """
    return _roi_align(
        data,
        rois,
        pooled_height=pooled_height,
        pooled_width=pooled_width,
        spatial_scale=spatial_scale,
        sampling_ratio=sampling_ratio,
        aligned=aligned,
        **options,
    )


def sample_inputs(elements: int, dtype: Any) -> list[dict[str, Any]]:
    """Arguments for benchmarks: 16 regions of an image of up to 64 by 64 pixels, pooled to 7 by 7; and aligned ones."""
    side = min(64, math.isqrt(elements))
    rng = np.random.default_rng(0)
    data = rng.standard_normal((1, elements // (side * side), side, side))
    begin = rng.uniform(0, side / 2, (16, 2))
    rois = np.concatenate([np.zeros((16, 1)), begin, begin + side / 2], axis=1)
    tensors = {"data": data.astype(dtype), "rois": rois.astype(dtype)}
    aligned = {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5, "sampling_ratio": 2, "aligned": True}
    return [{**tensors, "pooled_height": 7, "pooled_width": 7}, {**tensors, **aligned}]
