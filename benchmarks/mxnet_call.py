"""Compare the overhead of a call in MXNet: our op, MXNet's own, and a Python CustomOp, at 4 elements.

Run it with ``python benchmarks/mxnet_call.py``. Times are medians of interleaved rounds, because machines are noisy;
only ratios are meaningful. It also shows the number of threads and the growth of memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="mxnet")

import mxnet as mx
import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels

ELEMENTS = 4


class PythonSigmoid(mx.operator.CustomOp):
    """Compute through NumPy arrays and back, as in MXNet's guide."""

    def forward(self, is_train, req, in_data, out_data, aux):
        y = 1.0 / (1.0 + np.exp(-in_data[0].asnumpy()))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(out_grad[0].asnumpy() * y * (1.0 - y)))


@mx.operator.register("benchmark_python_sigmoid")
class PythonSigmoidProp(mx.operator.CustomOpProp):
    """The properties of `PythonSigmoid`."""

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return PythonSigmoid()


CALLS: dict[str, Callable[[mx.nd.NDArray], mx.nd.NDArray]] = {
    "MXNet built-in": mx.nd.sigmoid,
    "pykernels": lambda x: mx.nd.Custom(x, op_type="sigmoid"),
    "Python CustomOp": lambda x: mx.nd.Custom(x, op_type="benchmark_python_sigmoid"),
}


def forward(call: Callable[[mx.nd.NDArray], mx.nd.NDArray], n: int) -> float:
    """Return the microseconds per call, with `n` calls in flight."""
    x = mx.nd.ones(ELEMENTS)
    start = time.perf_counter()
    for _ in range(n):
        call(x)
    mx.nd.waitall()
    return (time.perf_counter() - start) / n * 1e6


def forward_and_backward(call: Callable[[mx.nd.NDArray], mx.nd.NDArray], n: int) -> float:
    """Return the microseconds for a call under autograd and its gradient."""
    x = mx.nd.ones(ELEMENTS)
    x.attach_grad()
    start = time.perf_counter()
    for _ in range(n):
        with mx.autograd.record():
            y = call(x)
        y.backward()
    mx.nd.waitall()
    return (time.perf_counter() - start) / n * 1e6


def medians(measure: Callable[..., float], n: int, rounds: int) -> dict[str, float]:
    """Return the median of every kind of call over interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in CALLS}
    for _ in range(rounds + 1):
        for name, call in CALLS.items():
            times[name].append(measure(call, n))
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def resident_mebibytes() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls in flight (default: 2000)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of which the median counts (default: 7)")
    options = parser.parse_args()
    pykernels.load_ops()
    console = Console()

    table = Table(title=f"sigmoid of {ELEMENTS} elements, {options.calls} calls in flight, median of {options.rounds}")
    table.add_column("operators")
    for column in ("forward, us", "ratio", "forward + backward, us", "ratio"):
        table.add_column(column, justify="right")
    one, both = (medians(measure, options.calls, options.rounds) for measure in (forward, forward_and_backward))
    base = next(iter(CALLS))
    for name in CALLS:
        table.add_row(
            name,
            f"{one[name]:.1f}",
            f"{one[name] / one[base]:.2f}",
            f"{both[name]:.1f}",
            f"{both[name] / both[base]:.2f}",
        )
    console.print(table)

    call = CALLS["pykernels"]
    before, threads = resident_mebibytes(), len(os.listdir("/proc/self/task"))
    for _ in range(10):
        forward(call, 2000)
    grown, more = resident_mebibytes() - before, len(os.listdir("/proc/self/task")) - threads
    console.print(f"20,000 more calls of ours: {grown:+.1f} MiB, {more:+d} threads")


if __name__ == "__main__":
    main()
