"""The network of ``digits.py`` on MXNet, with pykernels' operators, MXNet's own and Python's."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mxnet as mx
import numpy as np
import python_custom_ops  # noqa: F401  (registers python_relu and the others)
from digits_data import BATCH, LEARNING_RATE, MOMENTUM, WIDTHS, Digits, Run, batches, first_weights
from mxnet import autograd, gluon
from rich.progress import Progress


@dataclass(frozen=True)
class OpSet:
    """The operators that the network is made of; `F` is ``mx.nd`` or ``mx.sym``."""

    title: str
    dense: Callable[[Any, Any, Any, int], Any]
    leaky_relu: Callable[[Any, Any], Any]
    relu: Callable[[Any, Any], Any]
    softmax: Callable[[Any, Any], Any]


OURS = OpSet(
    "pykernels",
    dense=lambda F, x, weight, units: F.Custom(x, weight, op_type="dense"),
    leaky_relu=lambda F, x: F.Custom(x, op_type="leaky_relu", alpha=0.01),
    relu=lambda F, x: F.Custom(x, op_type="relu"),
    softmax=lambda F, x: F.Custom(x, op_type="softmax"),
)
BUILT_IN = OpSet(
    "MXNet built-in",
    dense=lambda F, x, weight, units: F.FullyConnected(x, weight, num_hidden=units, no_bias=True),
    leaky_relu=lambda F, x: F.LeakyReLU(x, act_type="leaky", slope=0.01),
    relu=lambda F, x: F.relu(x),
    softmax=lambda F, x: F.softmax(x, axis=-1),
)
PYTHON = OpSet(
    "Python CustomOp",
    dense=lambda F, x, weight, units: F.Custom(x, weight, op_type="python_dense"),
    leaky_relu=lambda F, x: F.Custom(x, op_type="python_leaky_relu"),
    relu=lambda F, x: F.Custom(x, op_type="python_relu"),
    softmax=lambda F, x: F.Custom(x, op_type="python_softmax"),
)


class Network(gluon.HybridBlock):
    """Three dense layers with learnable weights and biases; returns the probability of each digit."""

    def __init__(self, ops: OpSet):
        super().__init__()
        self._ops = ops
        for i, value in enumerate(first_weights()):
            weight = self.params.get(f"weight{i}", shape=value.shape)
            bias = self.params.get(f"bias{i}", shape=(1, len(value)), init="zeros")
            weight.initialize(mx.init.Constant(mx.nd.array(value)))
            bias.initialize()
            setattr(self, f"weight{i}", weight)
            setattr(self, f"bias{i}", bias)

    def hybrid_forward(self, F, x, weight0, weight1, weight2, bias0, bias1, bias2):
        ops, widths = self._ops, WIDTHS[1:]
        x = ops.leaky_relu(F, F.broadcast_add(ops.dense(F, x, weight0, widths[0]), bias0))
        x = ops.relu(F, F.broadcast_add(ops.dense(F, x, weight1, widths[1]), bias1))
        return ops.softmax(F, F.broadcast_add(ops.dense(F, x, weight2, widths[2]), bias2))


def train(ops: OpSet, digits: Digits, epochs: int, progress: Progress) -> Run:
    """Train a fresh network. An untimed step on another network comes first and builds whatever is missing."""
    task = progress.add_task(f"{ops.title}: first step", total=epochs)
    step(Network(ops), None, digits.train_x[:BATCH], digits.train_y[:BATCH])
    mx.nd.waitall()
    progress.update(task, description=ops.title)
    network = Network(ops)
    network.hybridize()
    optimizer = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM}
    trainer = gluon.Trainer(network.collect_params(), "sgd", optimizer)
    losses = []
    start = time.perf_counter()
    for epoch in batches(len(digits.train_x), epochs):
        steps = [step(network, trainer, digits.train_x[batch], digits.train_y[batch]) for batch in epoch]
        losses.append(mx.nd.concat(*steps, dim=0).asnumpy())
        progress.advance(task)
    seconds = time.perf_counter() - start
    accuracy = (network(mx.nd.array(digits.test_x)).asnumpy().argmax(axis=1) == digits.test_y).mean()
    return Run(ops.title, float(accuracy), np.concatenate(losses), seconds)


def step(
    network: Network, trainer: gluon.Trainer | None, x: np.ndarray, y: np.ndarray, workers: int = 1
) -> mx.nd.NDArray:
    """Take a step on one batch, or on one worker's part of it, and return the mean cross-entropy."""
    with autograd.record():
        probability = mx.nd.pick(network(mx.nd.array(x)), mx.nd.array(y))
        loss = -mx.nd.log(probability + 1e-12).mean()
    loss.backward()
    if trainer is not None:
        trainer.step(workers)
    return loss
