"""Train one network on handwritten digits three times: with pykernels' operators, MXNet's own, and Python's.

Same data, same batches, same initial weights: the losses must agree. Run by ``make demo``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import mxnet as mx
import numpy as np
import python_custom_ops  # noqa: F401  (registers python_relu and the others)
from mxnet import autograd, gluon
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import pykernels

BATCH = 64
LEARNING_RATE = 0.03
MOMENTUM = 0.9
WIDTHS = (64, 128, 64, 10)
ACCURACY = 0.97
#: Float32 sums taken in another order differ in the last digits, and every step carries that on.
TOLERANCE = 1e-4
#: Of the split, the initial weights and the batches.
SEED = 4


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
    """Three dense layers with learnable weights and biases; gives the probability of each digit."""

    def __init__(self, ops: OpSet):
        super().__init__()
        self._ops = ops
        rng = np.random.default_rng(SEED)
        for i, (n_in, n_out) in enumerate(pairwise(WIDTHS)):
            weight = self.params.get(f"weight{i}", shape=(n_out, n_in))
            bias = self.params.get(f"bias{i}", shape=(1, n_out), init="zeros")
            weight.initialize(mx.init.Constant(mx.nd.array(rng.normal(0, np.sqrt(2 / n_in), (n_out, n_in)))))
            bias.initialize()
            setattr(self, f"weight{i}", weight)
            setattr(self, f"bias{i}", bias)

    def hybrid_forward(self, F, x, weight0, weight1, weight2, bias0, bias1, bias2):
        ops, widths = self._ops, WIDTHS[1:]
        x = ops.leaky_relu(F, F.broadcast_add(ops.dense(F, x, weight0, widths[0]), bias0))
        x = ops.relu(F, F.broadcast_add(ops.dense(F, x, weight1, widths[1]), bias1))
        return ops.softmax(F, F.broadcast_add(ops.dense(F, x, weight2, widths[2]), bias2))


@dataclass(frozen=True)
class Digits:
    """scikit-learn's 1797 handwritten digits, 8 x 8 pixels each, in a fixed split."""

    train_x: np.ndarray
    test_x: np.ndarray
    train_y: np.ndarray
    test_y: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        x, y = load_digits(return_X_y=True)
        x = (x / 16).astype(np.float32)
        return cls(*train_test_split(x, y.astype(np.float32), test_size=0.2, stratify=y, random_state=SEED))


@dataclass(frozen=True)
class Run:
    """What came of one training."""

    title: str
    accuracy: float
    losses: np.ndarray
    seconds: float


def train(ops: OpSet, digits: Digits, epochs: int, progress: Progress) -> Run:
    """Train a fresh network. One step on another comes first, off the clock: it builds what must be built."""
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


def batches(n: int, epochs: int) -> Iterator[list[np.ndarray]]:
    """For every epoch its batches: which of `n` digits are in each."""
    rng = np.random.default_rng(SEED)
    for _ in range(epochs):
        order = rng.permutation(n)
        yield [order[i : i + BATCH] for i in range(0, n - BATCH + 1, BATCH)]


def step(
    network: Network, trainer: gluon.Trainer | None, x: np.ndarray, y: np.ndarray, workers: int = 1
) -> mx.nd.NDArray:
    """One step on one batch, or on one of so many workers' parts of it; gives its mean cross-entropy."""
    with autograd.record():
        probability = mx.nd.pick(network(mx.nd.array(x)), mx.nd.array(y))
        loss = -mx.nd.log(probability + 1e-12).mean()
    loss.backward()
    if trainer is not None:
        trainer.step(workers)
    return loss


def table(runs: list[Run], reference: Run) -> Table:
    """The comparison with `reference`."""
    result = Table(title=f"{len(reference.losses)} steps of {BATCH} digits, network {'-'.join(map(str, WIDTHS))}")
    result.add_column("operators")
    for column in ("accuracy", "final loss", "loss difference", "seconds", "ratio"):
        result.add_column(column, justify="right")
    for run in runs:
        result.add_row(
            run.title,
            f"{run.accuracy:.2%}",
            f"{run.losses[-1]:.6f}",
            "-" if run is reference else f"{difference(run, reference):.1e}",
            f"{run.seconds:.2f}",
            f"{run.seconds / reference.seconds:.2f}",
        )
    return result


def difference(run: Run, reference: Run) -> float:
    """The largest difference between the losses of two runs, over all steps."""
    return float(np.abs(run.losses - reference.losses).max())


def plot(runs: list[Run], path: Path) -> None:
    """Write the loss curves, one over the other, as a PNG."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for run, style in zip(runs, ("-", "--", ":")):
        axes.plot(run.losses, style, label=f"{run.title} ({run.accuracy:.1%}, {run.seconds:.1f} s)")
    axes.set(xlabel="step", ylabel="cross-entropy of the batch", yscale="log", title="Handwritten digits")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def faults(runs: list[Run], reference: Run) -> list[str]:
    """What is wrong with the runs; empty if they are as they should be."""
    found = []
    for run in runs:
        if not difference(run, reference) <= TOLERANCE:  # also true of NaN
            found.append(f"{run.title}: the losses differ from those of {reference.title} by more than {TOLERANCE}")
        if run.accuracy < ACCURACY:
            found.append(f"{run.title}: test accuracy {run.accuracy:.2%} is below {ACCURACY:.0%}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40, help="passes over the training data (default: 40)")
    parser.add_argument("--output", type=Path, default=Path("demo_output/digits.png"), help="where the plot goes")
    options = parser.parse_args()

    pykernels.load_ops()
    digits = Digits.load()
    columns = (
        TextColumn("{task.description:27}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
    )
    with Progress(*columns, TimeElapsedColumn()) as progress:
        runs = [train(ops, digits, options.epochs, progress) for ops in (OURS, BUILT_IN, PYTHON)]
    reference = runs[1]

    console = Console()
    console.print(table(runs, reference))
    plot(runs, options.output)
    console.print(f"loss curves: {options.output}")
    found = faults(runs, reference)
    for fault in found:
        print(f"digits.py: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
