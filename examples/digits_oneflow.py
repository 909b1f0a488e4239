"""The network of ``digits.py`` on OneFlow, with pykernels' operators and OneFlow's own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import oneflow as flow
from digits_data import BATCH, LEARNING_RATE, MOMENTUM, Digits, Run, batches, first_weights
from rich.progress import Progress

import pykernels


@dataclass(frozen=True)
class OpSet:
    """The operators that the network is made of."""

    title: str
    dense: Callable[[Any, Any], Any]
    leaky_relu: Callable[[Any], Any]
    relu: Callable[[Any], Any]
    softmax: Callable[[Any], Any]


def ours() -> OpSet:
    """Return the functions of the op folders, which must be loaded."""
    ops = pykernels.list_ops()
    return OpSet(
        "pykernels, OneFlow",
        dense=ops["dense"].api.dense,
        leaky_relu=lambda x: ops["leaky_relu"].api.leaky_relu(x, alpha=0.01),
        relu=ops["relu"].api.relu,
        softmax=ops["softmax"].api.softmax,
    )


BUILT_IN = OpSet(
    "OneFlow built-in",
    dense=lambda x, weight: flow.matmul(x, weight, transpose_b=True),
    leaky_relu=lambda x: flow.nn.functional.leaky_relu(x, 0.01),
    relu=flow.relu,
    softmax=lambda x: flow.softmax(x, -1),
)


class Network(flow.nn.Module):
    """Three dense layers with learnable weights and biases; returns the probability of each digit."""

    def __init__(self, ops: OpSet):
        super().__init__()
        self._ops = ops
        for i, value in enumerate(first_weights()):
            setattr(self, f"weight{i}", flow.nn.Parameter(flow.tensor(value)))
            setattr(self, f"bias{i}", flow.nn.Parameter(flow.zeros(1, len(value))))

    def forward(self, x: Any) -> Any:
        ops = self._ops
        x = ops.leaky_relu(ops.dense(x, self.weight0) + self.bias0)
        x = ops.relu(ops.dense(x, self.weight1) + self.bias1)
        return ops.softmax(ops.dense(x, self.weight2) + self.bias2)


class Trainer(flow.nn.Graph):
    """One step on one batch; returns its mean cross-entropy."""

    def __init__(self, network: Network):
        super().__init__()
        self.network = network
        self.add_optimizer(flow.optim.SGD(network.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM))

    def build(self, x: Any, y: Any) -> Any:
        probability = flow.gather(self.network(x), 1, y)
        loss = -flow.log(probability + 1e-12).mean()
        loss.backward()
        return loss


def train(ops: OpSet, digits: Digits, epochs: int, progress: Progress) -> Run:
    """Train a fresh network. An untimed step on another network comes first and builds whatever is missing."""
    task = progress.add_task(f"{ops.title}: first step", total=epochs)
    step(Trainer(Network(ops)), digits.train_x[:BATCH], digits.train_y[:BATCH]).numpy()
    progress.update(task, description=ops.title)
    network = Network(ops)
    trainer = Trainer(network)
    losses = []
    start = time.perf_counter()
    for epoch in batches(len(digits.train_x), epochs):
        steps = [step(trainer, digits.train_x[batch], digits.train_y[batch]) for batch in epoch]
        losses.extend(float(loss.numpy()) for loss in steps)
        progress.advance(task)
    seconds = time.perf_counter() - start
    with flow.no_grad():
        accuracy = (network(flow.tensor(digits.test_x)).numpy().argmax(axis=1) == digits.test_y).mean()
    return Run(ops.title, float(accuracy), np.array(losses), seconds)


def step(trainer: Trainer, x: np.ndarray, y: np.ndarray) -> Any:
    return trainer(flow.tensor(x), flow.tensor(y.astype(np.int64)[:, None]))
