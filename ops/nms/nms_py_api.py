from __future__ import annotations

from typing import Any

import numpy as np

import pykernels

_nms = pykernels.user_op_builder("nms").Op("nms_forward").Output("indices").Output("count").Function("boxes", "scores")


def nms(
    boxes: Any,
    scores: Any,
    iou_threshold: float = 0.5,
    score_threshold: float = 0.0,
    max_output: int = -1,
    **options: Any,
) -> Any:
    """Greedy non-maximum suppression: keep the best box, drop what overlaps it, go on with the best of the rest.

    A box is dropped if its intersection over union with a kept one is above `iou_threshold` (Girshick et al., "Rich
    Feature Hierarchies", arXiv:1311.2524, section 2.3). Of equal scores the first box comes first. There is no
    gradient.

    Parameters
    ----------
    boxes : tensor
        Floating point, of shape ``(boxes, 4)``: ``(x1, y1, x2, y2)``.
    scores : tensor
        Of shape ``(boxes,)`` and the dtype of `boxes`.
    iou_threshold : float
        The largest intersection over union at which both boxes are kept, from 0 to 1.
    score_threshold : float
        Only boxes whose score is above it count.
    max_output : int
        How many boxes to keep at most; -1 for no limit.
    **options
        On NumPy arrays, ``out`` as for NumPy's ufuncs.

    Returns
    -------
    tuple of tensor
        ``indices``, int32 of shape ``(boxes,)``: the numbers of the kept boxes, best first, then -1 to the end; and
        ``count``, int32 of shape ``(1,)``: how many are kept.
    """
    return _nms(
        boxes, scores, iou_threshold=iou_threshold, score_threshold=score_threshold, max_output=max_output, **options
    )


def sample_inputs(elements: int, dtype: Any) -> dict[str, Any]:
    """Arguments for benchmarks: boxes around up to 100 objects."""
    n = max(1, elements // 4)
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 1000, (min(100, n), 2))[rng.integers(min(100, n), size=n)] + rng.uniform(0, 10, (n, 2))
    boxes = np.concatenate([corners, corners + 50], axis=1)
    return {"boxes": boxes.astype(dtype), "scores": rng.random(n).astype(dtype)}
