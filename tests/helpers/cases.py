"""What every shipped op is tried on, and what it must equal, in MXNet's own words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Draws one input: ``(generator, shape) -> array``.
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def away_from_zero(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers within 2 of 0 but not within 0.05, where relu and leaky_relu have no derivative."""
    return np.asarray(rng.uniform(0.05, 2, shape) * rng.choice([-1, 1], shape))


def whole(below: int, dtype: str = "int32") -> Draw:
    """Whole numbers from 0 to `below`, in a dtype of their own."""
    return lambda rng, shape: rng.integers(below, size=shape).astype(dtype)


@dataclass(frozen=True)
class Case:
    """One use of an op.

    Attributes
    ----------
    shapes : tuple of tuple of int
        The shapes of its inputs.
    built_in : callable or None
        The same in MXNet's own words, ``(F, *inputs) -> output or outputs``; None where MXNet has no such thing.
    draw : mapping of int to Draw
        How to draw the inputs that are not just numbers. Arrays of float64 take the dtype of the test, others stay.
    constants : tuple of int
        The inputs that have no gradient.
    dtypes : tuple of str
        The dtypes in which results can be compared.
    """

    op: str
    shapes: tuple[tuple[int, ...], ...]
    built_in: Callable[..., Any] | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    draw: Mapping[int, Draw] = field(default_factory=dict)
    constants: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ("float16", "float32", "float64")

    def __str__(self) -> str:
        attributes = "".join(f"-{name}={value}" for name, value in self.attributes.items())
        return f"{self.op}-{'x'.join(map(str, self.shapes[0]))}{attributes}"

    @property
    def variables(self) -> list[int]:
        """The inputs that have a gradient."""
        return [i for i in range(len(self.shapes)) if i not in self.constants]

    def inputs(self, dtype: str, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        values = [self.draw.get(i, away_from_zero)(rng, shape) for i, shape in enumerate(self.shapes)]
        return [v.astype(dtype) if v.dtype == np.float64 else v for v in values]


def outputs(result: Any) -> list[Any]:
    """What a call returns, as a list."""
    return list(result) if isinstance(result, (list, tuple)) else [result]


def clip_boxes(F: Any, boxes: Any, height: float, width: float) -> Any:
    limits = (width, height, width, height)
    columns = [F.clip(F.slice_axis(boxes, axis=-1, begin=i, end=i + 1), 0, limits[i]) for i in range(4)]
    return F.concat(*columns, dim=-1)


def focal_loss(F: Any, logits: Any, targets: Any, alpha: float, gamma: float) -> Any:
    p = F.sigmoid(logits)
    right = targets * p + (1 - targets) * (1 - p)
    weight = targets * alpha + (1 - targets) * (1 - alpha)
    return -weight * (1 - right) ** gamma * F.log(right)


def zeros_and_ones(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return rng.integers(2, size=shape).astype(np.float64)


def boxes(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Boxes (x1, y1, x2, y2) that overlap a lot."""
    corners = rng.uniform(0, 2, (shape[0], 2))
    return np.concatenate([corners, corners + rng.uniform(0.5, 2, corners.shape)], axis=1)


def regions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Regions of two images, partly outside of them."""
    return np.concatenate([rng.integers(2, size=(shape[0], 1)), boxes(rng, shape) * 3 - 1.5], axis=1)


def cross_entropy(F: Any, logits: Any, labels: Any) -> Any:
    return -F.pick(F.log_softmax(logits), labels), F.softmax(logits)


ELEMENTWISE_AND_LAYERS: Sequence[Case] = (
    Case("sigmoid", ((3, 4),), lambda F, x: F.sigmoid(x)),
    Case("sigmoid", ((2, 3, 4),), lambda F, x: F.sigmoid(x)),
    Case("tanh", ((3, 4),), lambda F, x: F.tanh(x)),
    Case("relu", ((3, 4),), lambda F, x: F.relu(x)),
    Case("leaky_relu", ((3, 4),), lambda F, x: F.LeakyReLU(x, act_type="leaky", slope=0.01)),
    Case("leaky_relu", ((5,),), lambda F, x: F.LeakyReLU(x, act_type="leaky", slope=0.3), {"alpha": 0.3}),
    Case("dense", ((3, 4), (2, 4)), lambda F, x, w: F.FullyConnected(x, w, num_hidden=2, no_bias=True)),
    Case(
        "dense",
        ((1, 4), (2, 4)),
        lambda F, x, w: F.FullyConnected(x, w, num_hidden=2, no_bias=True) + 0.1,
        {"bias": 0.1},
    ),
    Case("softmax", ((3, 4),), lambda F, x: F.softmax(x)),
    Case("softmax", ((2, 3, 4),), lambda F, x: F.softmax(x, axis=1), {"axis": 1}),
    Case("softmax", ((2, 3, 4),), lambda F, x: F.softmax(x, axis=0), {"axis": -3}),
    Case(
        "layer_norm",
        ((2, 3, 4), (4,), (4,)),
        lambda F, x, gamma, beta: F.LayerNorm(x, gamma, beta, eps=1e-3),
        {"axis": 2, "eps": 1e-3},
    ),
    Case(
        "embedding",
        ((2, 3), (5, 4)),
        lambda F, i, w: F.Embedding(i, w, input_dim=5, output_dim=4),
        draw={0: whole(5, "int64")},
        constants=(0,),
    ),
    Case(
        "embedding",
        ((6,), (5, 4)),
        lambda F, i, w: F.Embedding(i, w, input_dim=5, output_dim=4),
        draw={0: whole(5, "float32")},
        constants=(0,),
        dtypes=("float32", "float64"),
    ),
    Case("tensor_negate", ((3, 4),), lambda F, x: F.negative(x)),
    Case("tensor_negate", ((5,),), lambda F, x: F.negative(x)),
    Case("dropout", ((3, 4),), attributes={"p": 0.25, "seed": 3}),
)

LOSSES: Sequence[Case] = (
    Case("softmax_cross_entropy", ((3, 4), (3,)), cross_entropy, draw={1: whole(4)}, constants=(1,)),
    Case(
        "softmax_cross_entropy",
        ((5, 2), (5,)),
        cross_entropy,
        draw={1: whole(2, "float32")},
        constants=(1,),
        dtypes=("float64",),
    ),
    Case("smooth_l1", ((4, 5),), lambda F, x: F.smooth_l1(x, scalar=1.0)),
    Case("smooth_l1", ((4, 5),), lambda F, x: F.smooth_l1(x, scalar=1.5), {"scalar": 1.5}),
    Case(
        "focal_loss",
        ((3, 4), (3, 4)),
        lambda F, x, t: focal_loss(F, x, t, 0.25, 2),
        draw={1: zeros_and_ones},
        constants=(1,),
    ),
    Case(
        "focal_loss",
        ((3, 4), (3, 4)),
        lambda F, x, t: focal_loss(F, x, t, 0.75, 1.5),
        {"alpha": 0.75, "gamma": 1.5},
        draw={1: zeros_and_ones},
        constants=(1,),
    ),
)

DETECTION: Sequence[Case] = (
    Case("box_clip", ((5, 4),), lambda F, x: clip_boxes(F, x, 1.25, 0.75), {"height": 1.25, "width": 0.75}),
    Case("box_clip", ((2, 3, 4),), lambda F, x: clip_boxes(F, x, 1.25, 1), {"height": 1.25, "width": 1}),
    Case("nms", ((12, 4), (12,)), draw={0: boxes}, constants=(0, 1), dtypes=("float32", "float64")),
    Case(
        "roi_align",
        ((2, 2, 4, 5), (3, 5)),
        lambda F, x, r: F.contrib.ROIAlign(x, r, pooled_size=(2, 3), spatial_scale=0.5),
        {"pooled_height": 2, "pooled_width": 3, "spatial_scale": 0.5},
        draw={1: regions},
        constants=(1,),
        dtypes=("float32", "float64"),
    ),
    Case(
        "roi_align",
        ((2, 2, 4, 5), (3, 5)),
        lambda F, x, r: F.contrib.ROIAlign(x, r, pooled_size=(2, 3), spatial_scale=1, sample_ratio=2, aligned=True),
        {"pooled_height": 2, "pooled_width": 3, "sampling_ratio": 2, "aligned": True},
        draw={1: regions},
        constants=(1,),
        dtypes=("float32", "float64"),
    ),
)

CASES: Sequence[Case] = (*ELEMENTWISE_AND_LAYERS, *LOSSES, *DETECTION)

#: Ops with auxiliary states, which calls on arrays alone cannot show, and with a test file of their own.
TRIED_ELSEWHERE = frozenset({"batch_norm"})
