"""Benchmarks of MXNet's own ops."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.define.definition import OpDef
from pykernels.frameworks.timing import Timer, time_pending

#: ``(mx.nd, *inputs, **attributes) -> output or outputs``.
OPS: dict[str, Callable[..., Any]] = {
    "batch_norm": lambda nd, x, *rest, eps, momentum, axis, **_: nd.BatchNorm(
        x, *rest, eps=eps, momentum=momentum, axis=axis, fix_gamma=False
    ),
    "dense": lambda nd, x, w, **_: nd.FullyConnected(x, w, num_hidden=w.shape[0], no_bias=True),
    "dropout": lambda nd, x, p, **_: nd.Dropout(x, p=p),
    "embedding": lambda nd, i, w: nd.Embedding(i, w, input_dim=w.shape[0], output_dim=w.shape[1]),
    "layer_norm": lambda nd, x, gamma, beta, axis, eps: nd.LayerNorm(x, gamma, beta, axis=axis, eps=eps),
    "leaky_relu": lambda nd, x, alpha: nd.LeakyReLU(x, act_type="leaky", slope=alpha),
    "relu": lambda nd, x: nd.relu(x),
    "roi_align": lambda nd, x, r, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned: (
        nd.contrib.ROIAlign(
            x,
            r,
            pooled_size=(pooled_height, pooled_width),
            spatial_scale=spatial_scale,
            sample_ratio=sampling_ratio,
            aligned=aligned,
        )
    ),
    "sigmoid": lambda nd, x: nd.sigmoid(x),
    "smooth_l1": lambda nd, x, scalar: nd.smooth_l1(x, scalar=scalar),
    "softmax": lambda nd, x, axis: nd.softmax(x, axis=axis),
    "tanh": lambda nd, x: nd.tanh(x),
    "tensor_negate": lambda nd, x: nd.negative(x),
}


def timers(
    function: Callable[..., Any], op: OpDef, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]
) -> tuple[Timer, Timer | None]:
    """Return timers of an op and of its gradient."""
    mx = importlib.import_module("mxnet")
    inputs = [mx.nd.array(array, dtype=array.dtype) for array in arrays]

    def run() -> Any:
        return function(mx.nd, *inputs, **attributes)

    def forward(calls: int) -> float:
        with mx.autograd.train_mode():
            return time_pending(run, mx.nd.waitall)(calls)

    leaves = [a for a, argument in zip(inputs, op.inputs) if np.dtype(a.dtype).kind == "f" and not argument.mutable]
    if op.gradient is None or not leaves:
        return forward, None
    for leaf in leaves:
        leaf.attach_grad()
    with mx.autograd.record():
        result = run()
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    heads = [mx.nd.ones_like(each) for each in results]
    backward = functools.partial(mx.autograd.backward, results, heads, retain_graph=True)
    return forward, time_pending(backward, mx.nd.waitall)
