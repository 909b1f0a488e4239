"""What a call of an op costs in OneFlow: ours through its API file, and OneFlow's own, in one run.

Run it with ``python benchmarks/oneflow_call.py``. Machines are noisy, so rounds are interleaved, and the ratio is the
median of the ratios of the rounds; only it says something.
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

#: Sizes, and what OneFlow's time has to be divided by ours at least, by op.
SIZES: dict[int, dict[str, float]] = {4: {"relu": 1, "sigmoid": 1}, 1_000_000: {"relu": 1, "sigmoid": 5}}

Call = Callable[[flow.Tensor], flow.Tensor]


def microseconds(call: Call, x: flow.Tensor, n: int) -> float:
    """Microseconds a call, of `n` in flight."""
    start = time.perf_counter()
    for _ in range(n):
        call(x)
    flow._oneflow_internal.eager.Sync()
    return (time.perf_counter() - start) / n * 1e6


def measure(calls: dict[str, Call], x: flow.Tensor, n: int, rounds: int) -> dict[str, list[float]]:
    """The time of every call, round by round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for each in range(rounds + 1):
        # Forwards and backwards: what has run before a call tells on it.
        for name, call in list(calls.items())[:: 1 if each % 2 else -1]:
            times[name].append(microseconds(call, x, n))
    return {name: each[1:] for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="calls in flight, of large arrays 20 (default: 2000)")
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


if __name__ == "__main__":
    main()
