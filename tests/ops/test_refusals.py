"""What users read when they call a shipped op wrongly: ranks, shapes, dtypes and attributes that cannot be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError

F32, I32 = np.float32, np.int32
BOXES, SCORES = np.ones((3, 4), F32), np.ones(3, F32)
DATA, ROIS = np.ones((1, 2, 4, 5), F32), np.ones((3, 5), F32)
POOLED = {"pooled_height": 2, "pooled_width": 2}
IMAGE = {"height": 4, "width": 5}


@pytest.fixture(autouse=True, scope="module")
def ops() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield
    pykernels.unload_ops()


def case(op: str, message: str, *inputs: np.ndarray, **attributes: Any) -> Any:
    return pytest.param(op, inputs, attributes, message, id=f"{op}-{message[:40]}")


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "message"),
    [
        case("tanh", "x must be floating point, but is int32", np.ones(3, I32)),
        case("smooth_l1", "x must be floating point, but is int32", np.ones(3, I32)),
        case("smooth_l1", "the op requires scalar > 0, but scalar is 0", np.ones(3), scalar=0),
        case("smooth_l1", "the op requires scalar > 0, but scalar is nan", np.ones(3), scalar=float("nan")),
        case("dropout", "the op requires 0 <= p < 1, but p is 1", np.ones(3), p=1),
        case("dropout", "the op requires 0 <= p < 1, but p is -0.5", np.ones(3), p=-0.5),
        case("dropout", "the op requires seed >= 0, but seed is -1", np.ones(3), seed=-1),
        case("dropout", "x must be floating point, but is int32", np.ones(3, I32)),
        case("layer_norm", "x must have 1 axis or more (..., features), but its shape is ()", F32(1), SCORES, SCORES),
        case(
            "layer_norm",
            "requires axis == -1 or axis == x.ndim - 1, but axis is 0 and x.ndim is 2",
            BOXES,
            np.ones(4, F32),
            np.ones(4, F32),
            axis=0,
        ),
        case("layer_norm", "the op requires eps >= 0, but eps is -1", SCORES, SCORES, SCORES, eps=-1),
        case(
            "layer_norm",
            "gamma must have the shape (features), here (4,), but has (3,)",
            BOXES,
            SCORES,
            np.ones(4, F32),
        ),
        case(
            "layer_norm",
            "beta must have 1 axis (features), but its shape is (4, 1)",
            BOXES,
            np.ones(4, F32),
            np.ones((4, 1), F32),
        ),
        case("layer_norm", "gamma must have the dtype of x, float32, but is float64", SCORES, np.ones(3), SCORES),
        case("embedding", "weight must have 2 axes (rows, columns), but its shape is (3,)", np.ones(2, I32), SCORES),
        case("embedding", "weight must be floating point, but is int32", np.ones(2, I32), np.ones((2, 2), I32)),
        case("embedding", "indices must be of floating-point or integer numbers, but is bool", np.ones(2, bool), BOXES),
        case("softmax_cross_entropy", "logits must have 2 axes (rows, classes), but its shape is (3,)", SCORES, SCORES),
        case(
            "softmax_cross_entropy",
            "labels must have 1 axis (rows), but its shape is (3, 1)",
            BOXES,
            np.ones((3, 1), I32),
        ),
        case("softmax_cross_entropy", "logits must be floating point", np.ones((3, 4), I32), np.ones(3, I32)),
        case(
            "softmax_cross_entropy",
            "labels must be of floating-point or integer numbers, but is bool",
            BOXES,
            np.ones(3, bool),
        ),
        case("focal_loss", "targets must have the shape of logits, (3, 4), but has (3,)", BOXES, SCORES),
        case("focal_loss", "logits must be floating point, but is int32", np.ones(3, I32), SCORES),
        case("focal_loss", "targets must be of floating-point or integer numbers", SCORES, np.ones(3, bool)),
        case("focal_loss", "the op requires 0 <= alpha <= 1, but alpha is 1.5", SCORES, SCORES, alpha=1.5),
        case("focal_loss", "the op requires gamma >= 0, but gamma is -1", SCORES, SCORES, gamma=-1),
        case("box_clip", "boxes must have the shape (..., 4), here (3, 4), but has (3, 5)", ROIS, **IMAGE),
        case("box_clip", "boxes must be floating point, but is int32", np.ones((1, 4), I32), **IMAGE),
        case("box_clip", "the op requires height >= 0, but height is -1", BOXES, height=-1, width=1),
        case("box_clip", "the op requires width >= 0, but width is -2", BOXES, height=1, width=-2),
        case("nms", "boxes must have the shape (boxes, 4), here (3, 4), but has (3, 5)", ROIS, SCORES),
        case("nms", "scores must have 1 axis (boxes), but its shape is (3, 4)", BOXES, BOXES),
        case("nms", "boxes must be floating point, but is int32", np.ones((3, 4), I32), np.ones(3, I32)),
        case("nms", "scores must have the dtype of boxes, float32, but is float64", BOXES, np.ones(3)),
        case(
            "nms", "the op requires 0 <= iou_threshold <= 1, but iou_threshold is 1.5", BOXES, SCORES, iou_threshold=1.5
        ),
        case("nms", "the op requires max_output >= -1, but max_output is -2", BOXES, SCORES, max_output=-2),
        case("roi_align", "data must have 4 axes (batch, channels, height, width)", BOXES, ROIS, **POOLED),
        case("roi_align", "the op requires height > 0, but height is 0", DATA[:, :, :0], ROIS, **POOLED),
        case("roi_align", "rois must have the shape (rois, 5), here (3, 5), but has (3, 4)", DATA, BOXES, **POOLED),
        case("roi_align", "data must be floating point, but is int32", DATA.astype(I32), ROIS.astype(I32), **POOLED),
        case(
            "roi_align", "rois must have the dtype of data, float32, but is float64", DATA, ROIS.astype(float), **POOLED
        ),
        case(
            "roi_align",
            "the op requires pooled_width > 0, but pooled_width is 0",
            DATA,
            ROIS,
            pooled_height=1,
            pooled_width=0,
        ),
        case(
            "roi_align",
            "the op requires spatial_scale > 0, but spatial_scale is 0",
            DATA,
            ROIS,
            **{**POOLED, "spatial_scale": 0},
        ),
    ],
)
def test_an_invalid_call_is_refused(
    op: str, inputs: tuple[np.ndarray, ...], attributes: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(CallError, match=f"{op}_forward.*{re.escape(message)}"):
        getattr(pykernels.list_ops()[op].api, op)(*inputs, **attributes)
