"""JAX's own functions, compiled by ``jax.jit``, for benchmarks."""

from __future__ import annotations

import importlib
import os
import timeit
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.define.definition import OpDef
from pykernels.frameworks.timing import Timer

#: ``(jax, *inputs, **attributes) -> output``.
OPS: dict[str, Callable[..., Any]] = {
    "dense": lambda jax, x, w, **_: x @ w.T,
    "embedding": lambda jax, i, w: w[i.astype(int)],
    "layer_norm": lambda jax, x, gamma, beta, eps, axis: jax.nn.standardize(x, axis, epsilon=eps) * gamma + beta,
    "leaky_relu": lambda jax, x, alpha: jax.nn.leaky_relu(x, alpha),
    "relu": lambda jax, x: jax.nn.relu(x),
    "sigmoid": lambda jax, x: jax.nn.sigmoid(x),
    "softmax": lambda jax, x, axis: jax.nn.softmax(x, axis),
    "tanh": lambda jax, x: jax.numpy.tanh(x),
    "tensor_negate": lambda jax, x: -x,
}


def timers(
    function: Callable[..., Any], op: OpDef, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]
) -> tuple[Timer, Timer | None]:
    """Return timers of an op and of its gradient."""
    # The number of threads, read when JAX starts. Our kernels are timed on one, too.
    os.environ["NPROC"] = "1"
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    inputs = [jax.numpy.asarray(array) for array in arrays]
    real = [at for at, x in enumerate(inputs) if np.issubdtype(x.dtype, np.floating) and not op.inputs[at].mutable]

    def run(*variables: Any) -> Any:
        whole = dict(zip(real, variables))
        return function(jax, *(whole.get(at, x) for at, x in enumerate(inputs)), **attributes)

    variables = [inputs[at] for at in real]
    compiled = jax.jit(run)
    forward = timeit.Timer(lambda: compiled(*variables).block_until_ready()).timeit
    if op.gradient is None or not real:
        return forward, None
    result, pull = jax.vjp(run, *variables)
    compiled_pull = jax.jit(lambda pull, head: pull(head))
    head = jax.numpy.ones_like(result)
    return forward, timeit.Timer(lambda: jax.block_until_ready(compiled_pull(pull, head))).timeit
