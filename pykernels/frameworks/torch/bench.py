"""PyTorch's own ops, for benchmarks."""

from __future__ import annotations

import importlib
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.define.definition import OpDef
from pykernels.frameworks.timing import Timer, gradient_call

#: ``(torch, *inputs, **attributes) -> output``.
OPS: dict[str, Callable[..., Any]] = {
    "batch_norm": lambda torch, x, gamma, beta, mean, variance, eps, momentum, **_: torch.nn.functional.batch_norm(
        x, mean, variance, gamma, beta, training=True, momentum=1 - momentum, eps=eps
    ),
    "dense": lambda torch, x, w, **_: torch.nn.functional.linear(x, w),
    "dropout": lambda torch, x, p, **_: torch.dropout(x, p, True),
    "embedding": lambda torch, i, w: torch.nn.functional.embedding(i, w),
    "layer_norm": lambda torch, x, gamma, beta, eps, **_: torch.layer_norm(x, gamma.shape, gamma, beta, eps),
    "leaky_relu": lambda torch, x, alpha: torch.nn.functional.leaky_relu(x, alpha),
    "relu": lambda torch, x: torch.relu(x),
    "sigmoid": lambda torch, x: torch.sigmoid(x),
    "softmax": lambda torch, x, axis: torch.softmax(x, axis),
    "tanh": lambda torch, x: torch.tanh(x),
    "tensor_negate": lambda torch, x: torch.neg(x),
}


def timers(
    function: Callable[..., Any], op: OpDef, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]
) -> tuple[Timer, Timer | None]:
    """Return timers of an op and of its gradient."""
    torch = importlib.import_module("torch")
    inputs = [torch.from_numpy(array.copy()) for array in arrays]
    torch.set_num_threads(1)

    def forward(calls: int) -> float:
        with torch.no_grad():
            return timeit.timeit(lambda: function(torch, *inputs, **attributes), number=calls)

    backward = gradient_call(torch, function, op, inputs, attributes)
    return forward, timeit.Timer(backward).timeit if backward else None
