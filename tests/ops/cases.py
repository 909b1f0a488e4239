"""What every shipped op is tried on, and MXNet's own op that it must equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One use of an op: the shapes of its inputs, its attributes, and the same in MXNet's own words."""

    op: str
    shapes: tuple[tuple[int, ...], ...]
    built_in: Callable[..., Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        attributes = "".join(f"-{name}={value}" for name, value in self.attributes.items())
        return f"{self.op}-{'x'.join(map(str, self.shapes[0]))}{attributes}"

    def inputs(self, dtype: str, seed: int = 0) -> list[np.ndarray]:
        """Random inputs, none within 0.05 of 0, where relu and leaky_relu have no derivative."""
        rng = np.random.default_rng(seed)
        values = [rng.uniform(0.05, 2, shape) * rng.choice([-1, 1], shape) for shape in self.shapes]
        return [np.asarray(v).astype(dtype) for v in values]


CASES = (
    Case("sigmoid", ((3, 4),), lambda F, x: F.sigmoid(x)),
    Case("sigmoid", ((2, 3, 4),), lambda F, x: F.sigmoid(x)),
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
)
