"""The frameworks' own ops: what to compare with, where there is such a thing."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pykernels.bench.timing import Timer
from pykernels.steps import Step

__all__ = ["timers"]

#: For each op of ours MXNet's own: ``(mx.nd, *inputs, **attributes) -> output or outputs``.
_MXNET: dict[str, Callable[..., Any]] = {
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

#: For each op of ours that of PyTorch: ``(torch, *inputs, **attributes) -> output``.
_TORCH: dict[str, Callable[..., Any]] = {
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


def timers(op_name: str, forward: Step) -> dict[str, tuple[Timer, Timer | None]]:
    """Timers of the own op of every installed framework that has one: its forward pass, and its gradient.

    Imports these frameworks. One whose op refuses the arguments is left out, and that is told.
    """
    found = {}
    for name, package, table, time_it in _FRAMEWORKS:
        if op_name in table and importlib.util.find_spec(package):
            try:
                pair = time_it(importlib.import_module(package), table[op_name], forward)
                for timer in pair:
                    if timer is not None:
                        timer(1)
            except Exception as error:  # of whatever kind a framework has
                lines = str(error).splitlines() or [type(error).__name__]
                said = next((line for line in lines if "Error:" in line), lines[0])
                print(f"pykernels: {name}'s own {op_name} is left out: {said}", file=sys.stderr)
            else:
                found[name] = pair
    return found


def _attributes(step: Step) -> dict[str, Any]:
    return {name: value for name, value in step.attributes.items() if name != "device_sub_tag"}


def _time_mxnet(mx: Any, function: Callable[..., Any], step: Step) -> tuple[Timer, Timer | None]:
    inputs = [mx.nd.array(array, dtype=array.dtype) for group in step.inputs for array in group]
    attributes = _attributes(step)

    def run() -> Any:
        return function(mx.nd, *inputs, **attributes)

    def timed(calls: int, call: Callable[[], Any]) -> float:
        mx.nd.waitall()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        mx.nd.waitall()
        return time.perf_counter() - start

    def forward(calls: int) -> float:
        with mx.autograd.train_mode():
            return timed(calls, run)

    if step.op.gradient is None:
        return forward, None
    for array, argument in zip(inputs, step.op.inputs):
        if np.dtype(array.dtype).kind == "f" and not argument.mutable:
            array.attach_grad()
    with mx.autograd.record():
        result = run()
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    heads = [mx.nd.ones_like(each) for each in results]
    return forward, lambda calls: timed(calls, lambda: mx.autograd.backward(results, heads, retain_graph=True))


def _time_torch(torch: Any, function: Callable[..., Any], step: Step) -> tuple[Timer, Timer | None]:
    inputs = [torch.from_numpy(array.copy()) for group in step.inputs for array in group]
    attributes = _attributes(step)
    torch.set_num_threads(1)

    def timed(calls: int, call: Callable[[], Any]) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start

    def forward(calls: int) -> float:
        with torch.no_grad():
            return timed(calls, lambda: function(torch, *inputs, **attributes))

    if step.op.gradient is None:
        return forward, None
    leaves = [tensor.clone().requires_grad_() if tensor.is_floating_point() else tensor for tensor in inputs]
    result = function(torch, *leaves, **attributes)
    wanted, head = [tensor for tensor in leaves if tensor.requires_grad], torch.ones_like(result)
    return forward, lambda calls: timed(calls, lambda: torch.autograd.grad(result, wanted, head, retain_graph=True))


_FRAMEWORKS = (("MXNet", "mxnet", _MXNET, _time_mxnet), ("PyTorch", "torch", _TORCH, _time_torch))
