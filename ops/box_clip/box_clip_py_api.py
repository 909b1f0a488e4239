from __future__ import annotations

from typing import Any

import numpy as np

import pykernels

TAKES_NAN = True

_box_clip = pykernels.user_op_builder("box_clip").Op("box_clip_forward").Output("y").Function("boxes")


def box_clip(boxes: Any, height: float, width: float, **options: Any) -> Any:
    """Move the corners of boxes that lie outside of an image to its border.

    ``x = min(max(x, 0), width)`` and ``y = min(max(y, 0), height)``, as torchvision's ``clip_boxes_to_image``. The
    gradient passes where a coordinate is inside or on the border, and is 0 elsewhere.

    Parameters
    ----------
    boxes : tensor
        Floating point, of shape ``(..., 4)``: ``(x1, y1, x2, y2)``.
    height, width : float
        The size of the image, in the unit of the boxes. Subtract 1 from each to clip to the last pixel instead of
        the border.
    **options
        On NumPy arrays, ``out`` and ``where`` as for NumPy's ufuncs.

    Returns
    -------
    tensor
        Of the same kind, shape and dtype as `boxes`.
    """
    return _box_clip(boxes, height=height, width=width, **options)


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: boxes that lie partly outside."""
    boxes = np.random.default_rng(0).uniform(-0.5, 1.5, (max(1, elements // 4), 4))
    return {"boxes": boxes.astype(dtype), "height": 1.0, "width": 1.0}
