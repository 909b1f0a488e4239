"""Train one network on handwritten digits several times: with pykernels' operators, the framework's own and Python's.

It trains on MXNet and, if it is installed, on OneFlow. Data, batches and initial weights are the same, so the losses
must agree. ``make demo`` runs it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import digits_mxnet
import matplotlib
import numpy as np
from digits_data import BATCH, WIDTHS, Digits, Run
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import pykernels

matplotlib.use("Agg")

import matplotlib.pyplot as plt

ACCURACY = 0.97
#: Float32 sums in another order differ in the last digits, and the differences grow with every step.
TOLERANCE = 1e-4


def train(digits: Digits, epochs: int, progress: Progress) -> tuple[list[Run], Run]:
    """Return all runs, and the one to compare the others with."""
    first, reference, last = [
        digits_mxnet.train(ops, digits, epochs, progress)
        for ops in (digits_mxnet.OURS, digits_mxnet.BUILT_IN, digits_mxnet.PYTHON)
    ]
    if not has_oneflow():
        return [first, reference, last], reference
    import digits_oneflow

    second, fourth = [
        digits_oneflow.train(ops, digits, epochs, progress) for ops in (digits_oneflow.ours(), digits_oneflow.BUILT_IN)
    ]
    return [first, second, reference, fourth, last], reference


def has_oneflow() -> bool:
    return importlib.util.find_spec("oneflow") is not None


def table(runs: list[Run], reference: Run) -> Table:
    """Return a table that compares the runs with `reference`."""
    result = Table(title=f"{len(reference.losses)} steps of {BATCH} digits, network {'-'.join(map(str, WIDTHS))}")
    result.add_column("operators", no_wrap=True)
    for column in ("accuracy", "final loss", "difference", "seconds", "ratio"):
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
    """Return the largest difference between the losses of two runs, over all steps."""
    return float(np.abs(run.losses - reference.losses).max())


def plot(runs: list[Run], path: Path) -> None:
    """Draw the loss curves into one PNG."""
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for run, style in zip(runs, ("solid", "dashed", "dashdot", (0, (1, 3)), "dotted")):
        axes.plot(run.losses, linestyle=style, label=f"{run.title} ({run.accuracy:.1%}, {run.seconds:.1f} s)")
    axes.set(xlabel="step", ylabel="cross-entropy of the batch", yscale="log", title="Handwritten digits")
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def faults(runs: list[Run], reference: Run) -> list[str]:
    """Return the faults of the runs: losses that differ, accuracy that is too low."""
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
        runs, reference = train(digits, options.epochs, progress)

    console = Console()
    console.print(table(runs, reference))
    if not has_oneflow():
        console.print(
            "OneFlow is not installed; with it (pip install '.[oneflow]') it has rows here, too", markup=False
        )
    plot(runs, options.output)
    console.print(f"loss curves: {options.output}", markup=False)
    found = faults(runs, reference)
    for fault in found:
        print(f"digits.py: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
