"""Ops of detectors, whose results depend on data: which boxes stay, where samples are taken, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from cases import boxes

import pykernels
from pykernels.base import paths
from pykernels.base.errors import KernelError


@pytest.fixture(autouse=True, scope="module")
def api() -> Iterator[dict[str, Any]]:
    names = ("nms", "roi_align", "box_clip", "embedding")
    modules = pykernels.load_ops(*(paths.OPS / name for name in names))
    yield {name: getattr(modules[name].api, name) for name in names}
    pykernels.unload_ops()


@pytest.mark.parametrize("iou_threshold", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_nms_keeps_what_mxnets_box_nms_keeps(api: dict[str, Any], iou_threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    candidates = boxes(rng, (50, 4))
    scores = rng.uniform(-0.2, 1, 50)
    indices, count = api["nms"](candidates, scores, iou_threshold=iou_threshold, score_threshold=0.1)
    rows = mx.nd.array(np.column_stack([np.zeros(50), scores, candidates]), dtype="float64")
    kept = mx.nd.contrib.box_nms(rows, overlap_thresh=iou_threshold, valid_thresh=0.1, coord_start=2, score_index=1)
    expected = kept.asnumpy()
    expected = expected[expected[:, 1] > 0]
    assert count.tolist() == [len(expected)] and 0 < len(expected) < 50
    np.testing.assert_array_equal(candidates[indices[: count[0]]], expected[:, 2:])
    np.testing.assert_array_equal(indices[count[0] :], -1)


def test_nms_takes_the_first_of_equal_scores_and_stops_at_max_output(api: dict[str, Any]) -> None:
    apart = np.array([[i, 0, i + 0.5, 1] for i in range(5)], np.float32)
    scores = np.full(5, 0.5, np.float32)
    assert [r.tolist() for r in api["nms"](apart, scores)] == [[0, 1, 2, 3, 4], [5]]
    assert [r.tolist() for r in api["nms"](apart, scores, max_output=2)] == [[0, 1, -1, -1, -1], [2]]
    assert [r.tolist() for r in api["nms"](apart, scores, max_output=0)] == [[-1] * 5, [0]]
    assert [r.tolist() for r in api["nms"](apart, scores, score_threshold=0.5)] == [[-1] * 5, [0]]
    scores[2] = np.nan
    assert [r.tolist() for r in api["nms"](apart, scores)] == [[0, 1, 3, 4, -1], [4]]


def test_nms_of_boxes_without_an_area(api: dict[str, Any]) -> None:
    points = np.zeros((3, 4), np.float32)
    assert api["nms"](points, np.ones(3, np.float32))[1] == [3]
    assert [r.tolist() for r in api["nms"](points[:0], np.ones(0, np.float32))] == [[], [0]]


def test_nms_has_no_gradient() -> None:
    rows = mx.nd.array(boxes(np.random.default_rng(0), (4, 4)))
    rows.attach_grad()
    with mx.autograd.record():
        _, count = mx.nd.Custom(rows, mx.nd.ones(4), op_type="nms")
        (rows.sum() + count.astype("float32").sum()).backward()
    np.testing.assert_array_equal(rows.grad.asnumpy(), np.ones((4, 4)))


def test_roi_align_of_a_plane_is_the_plane(api: dict[str, Any]) -> None:
    # Linear interpolation is exact on a plane, and a bin's mean is the value at its centre.
    y, x = np.mgrid[:8, :9].astype(np.float64)
    data = (2 * x + 3 * y)[None, None]
    rois = np.array([[0, 1, 2, 5, 6], [0, 2.5, 1.5, 6.5, 3.5]])
    result = api["roi_align"](data, rois, 2, 4, sampling_ratio=3)
    for roi, pooled in zip(rois, result[:, 0]):
        xs = roi[1] + (np.arange(4) + 0.5) * (roi[3] - roi[1]) / 4
        ys = roi[2] + (np.arange(2) + 0.5) * (roi[4] - roi[2]) / 2
        np.testing.assert_allclose(pooled, 2 * xs + 3 * ys[:, None], rtol=1e-12)
    shifted = rois + np.array([0, 0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(api["roi_align"](data, shifted, 2, 4, sampling_ratio=3, aligned=True), result)


def test_roi_align_far_outside_is_0(api: dict[str, Any]) -> None:
    result = api["roi_align"](np.ones((1, 1, 3, 3)), np.array([[0.0, 10, 10, 12, 12], [0, 0, 0, 2, 2]]), 1, 1)
    np.testing.assert_array_equal(result.ravel(), [0, 1])


@pytest.mark.parametrize(
    ("roi", "message"),
    [
        ([2.0, 0, 0, 1, 1], r"IndexError: rois\[1\] is of image 2, but data holds images 0 to 1"),
        ([-1.0, 0, 0, 1, 1], r"IndexError: rois\[1\] is of image -1, but data holds images 0 to 1"),
        ([0.5, 0, 0, 1, 1], r"ValueError: the image of rois\[1\] is not a whole number"),
        ([np.nan, 0, 0, 1, 1], "ValueError: .*NaN"),
        ([0.0, 0, 0, np.inf, 1], "ValueError: every region must be finite"),
        ([0.0, 0, 0, 1, np.nan], "ValueError: every region must be finite"),
        ([0.0, 2, 2, 1, 3], "ValueError: every region must .*, if aligned, have a height and a width greater than 0"),
    ],
)
def test_invalid_regions_are_refused(api: dict[str, Any], roi: list[float], message: str) -> None:
    rois = np.array([[0, 0, 0, 2, 2], roi])
    with pytest.raises(KernelError, match=message):
        api["roi_align"](np.ones((2, 1, 3, 3)), rois, 1, 1, aligned=True)


def test_box_clip_keeps_the_gradient_on_the_border() -> None:
    rows = mx.nd.array([[0, 0, 8, 6], [-1, -1, 9, 7], [1, 2, 3, 4]])
    rows.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(rows, op_type="box_clip", height=6, width=8)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [[0, 0, 8, 6], [0, 0, 8, 6], [1, 2, 3, 4]])
    np.testing.assert_array_equal(rows.grad.asnumpy(), [[1] * 4, [0] * 4, [1] * 4])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_indices_out_of_range_are_refused(api: dict[str, Any], dtype: str) -> None:
    weight = np.ones((3, 2))
    with pytest.raises(KernelError, match="IndexError: index 3 is out of range: weight has 3 rows"):
        api["embedding"](np.array([0, 3], dtype), weight)
    with pytest.raises(KernelError, match="IndexError: index -1 is out of range"):
        api["embedding"](np.array([-1, 0], dtype), weight)
    result = mx.nd.Custom(mx.nd.array([5], dtype=dtype), mx.nd.array(weight), op_type="embedding")
    with pytest.raises(mx.MXNetError, match="IndexError: index 5 is out of range"):
        result.asnumpy()
    if dtype == "float32":
        with pytest.raises(KernelError, match="ValueError: an index is not a whole number"):
            api["embedding"](np.array([0.5], dtype), weight)
