from __future__ import annotations

import math
from typing import Any

import numpy as np

import pykernels


def roi_align(
    data: Any,
    rois: Any,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Any:
    """Regions of images, each cut into bins of equal size of which the mean is taken, without rounding to pixels.

    A bin's mean is that of samples at equal distances, each interpolated from the four pixels around it (He et al.,
    "Mask R-CNN", arXiv:1703.06870, section 3), as MXNet's ``contrib.ROIAlign``. Samples more than a pixel outside of
    the image are 0.

    Parameters
    ----------
    data : tensor
        Floating point, of shape ``(batch, channels, height, width)``.
    rois : tensor
        Of shape ``(regions, 5)`` and the dtype of `data`: ``(image, x1, y1, x2, y2)``; without a gradient.
    pooled_height, pooled_width : int
        How many bins a region is cut into.
    spatial_scale : float
        What coordinates are multiplied by: the size of `data` over that of the image in which regions are measured.
    sampling_ratio : int
        How many samples a bin takes along each axis; -1 or 0 for about one per pixel.
    aligned : bool
        Whether the centre of the first pixel is at 0.5, not at 0. Otherwise regions are at least one pixel large.

    Returns
    -------
    tensor
        Of shape ``(regions, channels, pooled_height, pooled_width)`` and the kind and dtype of `data`.

    Raises
    ------
    KernelError
        A region is of an image that is not there (also where MXNet takes -1 for padding), not finite, or, if `aligned`,
        empty.
    """
    return (
        pykernels.user_op_builder("roi_align")
        .Op("roi_align_forward")
        .Input("data", [data])
        .Input("rois", [rois])
        .Output("y")
        .Attr("pooled_height", pooled_height)
        .Attr("pooled_width", pooled_width)
        .Attr("spatial_scale", spatial_scale)
        .Attr("sampling_ratio", sampling_ratio)
        .Attr("aligned", aligned)
        .Build()
        .InferAndTryRun()
        .SoleOutputBlob()
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
