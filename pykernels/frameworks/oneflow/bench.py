"""OneFlow's own ops, for benchmarks: called eagerly, on as many threads as OneFlow chooses."""

from __future__ import annotations

import contextlib
import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.define.definition import OpDef
from pykernels.frameworks.timing import Timer, gradient_call, time_pending

#: ``(flow, *inputs, **attributes) -> output``.
OPS: dict[str, Callable[..., Any]] = {
    "batch_norm": lambda flow, x, gamma, beta, mean, variance, eps, momentum, axis, **_: flow._C.normalization(
        x, mean, variance, gamma, beta, axis=axis, epsilon=eps, momentum=momentum, is_training=True
    ),
    "dense": lambda flow, x, w, **_: flow.nn.functional.linear(x, w),
    "dropout": lambda flow, x, p, **_: flow.nn.functional.dropout(x, p=p),
    "embedding": lambda flow, i, w: flow.nn.functional.embedding(i, w),
    "layer_norm": lambda flow, x, gamma, beta, eps, **_: flow.nn.functional.layer_norm(
        x, gamma.shape, gamma, beta, eps
    ),
    "leaky_relu": lambda flow, x, alpha: flow.nn.functional.leaky_relu(x, alpha),
    "relu": lambda flow, x: flow.relu(x),
    "sigmoid": lambda flow, x: flow.sigmoid(x),
    "softmax": lambda flow, x, axis: flow.softmax(x, axis),
    "tanh": lambda flow, x: flow.tanh(x),
    "tensor_negate": lambda flow, x: flow.negative(x),
}


def timers(
    function: Callable[..., Any], op: OpDef, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]
) -> tuple[Timer, Timer | None]:
    """Return timers of an op and of its gradient."""
    flow = _import()
    inputs = [flow.tensor(array) for array in arrays]
    wait = flow._oneflow_internal.eager.Sync

    def forward(calls: int) -> float:
        with flow.no_grad():
            return time_pending(lambda: function(flow, *inputs, **attributes), wait)(calls)

    backward = gradient_call(flow, function, op, inputs, attributes)
    return forward, time_pending(backward, wait) if backward else None


def _import() -> Any:
    with _quiet(), warnings.catch_warnings():
        # OneFlow 0.8.0 uses names that newer versions of its dependencies have deprecated.
        warnings.simplefilter("ignore")
        return importlib.import_module("oneflow")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence standard error, where OneFlow reports each missing device."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
