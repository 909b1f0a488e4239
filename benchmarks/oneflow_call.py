"""Compare the overhead of a call in OneFlow: prepared, described in each call, and OneFlow's own op.

Run it with ``python benchmarks/oneflow_call.py``. Machines are noisy, so rounds are interleaved, and only the median of
the rounds' ratios is meaningful.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

with warnings.catch_warnings():
    # OneFlow 0.8.0 uses names that newer versions of its dependencies have deprecated.
    warnings.simplefilter("ignore")
    import oneflow as flow

import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels

#: Sizes, and the least ratio of OneFlow's time to ours, by op.
SIZES: dict[int, dict[str, float]] = {4: {"relu": 1, "sigmoid": 1}, 1_000_000: {"relu": 1, "sigmoid": 5}}

Call = Callable[[flow.Tensor], flow.Tensor]
Clock = Callable[[], float]


def relu(x: flow.Tensor) -> flow.Tensor:
    """Describe each call, in the style of OneFlow's guide."""
    op = pykernels.user_op_builder("relu").Op("relu_forward").Input("x", [x]).Output("y").Build()
    return op.InferAndTryRun().SoleOutputBlob()


def leaky_relu(x: flow.Tensor, alpha: float = 0.01) -> flow.Tensor:
    """Like `relu`, with an attribute."""
    op = pykernels.user_op_builder("leaky_relu").Op("leaky_relu_forward").Input("x", [x]).Output("y")
    return op.Attr("alpha", alpha).Build().InferAndTryRun().SoleOutputBlob()


def microseconds(call: Call, x: flow.Tensor, n: int, clock: Clock) -> float:
    """Return the microseconds per call, with `n` calls in flight."""
    start = clock()
    for _ in range(n):
        call(x)
    flow._oneflow_internal.eager.Sync()
    return (clock() - start) / n * 1e6


def measure(
    calls: dict[str, Call], x: flow.Tensor, n: int, rounds: int, clock: Clock = time.perf_counter
) -> dict[str, list[float]]:
    """Return the time of every call, round by round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for each in range(rounds + 1):
        # In both orders, because a call depends on what ran before it.
        for name, call in list(calls.items())[:: 1 if each % 2 else -1]:
            times[name].append(microseconds(call, x, n, clock))
    return {name: each[1:] for name, each in times.items()}


def described(n: int, rounds: int) -> Table:
    """Compare calls that are described each time with the prepared ones of API files, by the calling thread's time."""
    x = flow.ones(4)
    table = Table(title=f"processor time of the calling thread, {n} calls in flight of 4 elements, median of {rounds}")
    for column in ("op", "prepared, us", "described, us", "described / prepared"):
        table.add_column(column, justify="left" if column == "op" else "right")
    for function in (relu, leaky_relu):
        op = function.__name__
        calls: dict[str, Call] = {"prepared": getattr(pykernels.list_ops()[op].api, op), "described": function}
        times = measure(calls, x, n, rounds, time.thread_time)
        ratio = statistics.median(b / a for a, b in zip(*times.values(), strict=True))
        table.add_row(op, *(f"{statistics.median(each):.1f}" for each in times.values()), f"{ratio:.2f}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls in flight; 20 for large arrays (default: 2000)")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of which the median counts (default: 100)")
    options = parser.parse_args()
    pykernels.load_ops()

    table = Table(title=f"float32, {options.calls} calls in flight (20 of large arrays), median of {options.rounds}")
    for column in ("op", "elements", "OneFlow, us", "pykernels, us", "OneFlow / pykernels", "wanted"):
        table.add_column(column, justify="left" if column == "op" else "right")
    for size, wanted in SIZES.items():
        x = flow.tensor(np.random.default_rng(0).normal(size=size).astype("float32"))
        calls: dict[str, Call] = {}
        for op in wanted:
            calls[f"OneFlow {op}"] = getattr(flow, op)
            calls[f"our {op}"] = getattr(pykernels.list_ops()[op].api, op)
        times = measure(calls, x, options.calls if size < 1000 else 20, options.rounds)
        for op, least in wanted.items():
            theirs, ours = times[f"OneFlow {op}"], times[f"our {op}"]
            ratio = statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
            verdict = "[green]" if ratio >= least else "[red]"
            medians = [f"{statistics.median(each):.1f}" for each in (theirs, ours)]
            table.add_row(op, f"{size:,}", *medians, f"{verdict}{ratio:.2f}", f">= {least:g}")
    Console().print(table)
    Console().print(described(options.calls, options.rounds))


if __name__ == "__main__":
    main()
