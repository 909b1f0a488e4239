"""Measure the speedup of large elementwise ops in MXNet by threads, beside its own relu and memory copies.

Run it with ``python benchmarks/threads.py``. One process computes on one thread, another on several. They work in turn,
round after round, and only ratios are meaningful: that of the medians and, in brackets, that of the minimum times. On
an idle machine the two are similar. If copies gain nothing from more threads, memory is the limit, and nothing else can
gain much.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rich.console import Console
from rich.table import Table

from pykernels.frameworks import timing

COPY = "memory copies"
#: ``(mx.nd, input, output) -> None``
OPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "MXNet's relu": lambda nd, x, y: nd.relu(x, out=y),
    "relu": lambda nd, x, y: nd.Custom(x, op_type="relu", out=y),
    "sigmoid": lambda nd, x, y: nd.Custom(x, op_type="sigmoid", out=y),
    "tanh": lambda nd, x, y: nd.Custom(x, op_type="tanh", out=y),
}


class Worker:
    """A process that computes on a number of threads."""

    def __init__(self, threads: int) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
        command = [sys.executable, __file__, "--worker", str(threads)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def timer(self, name: str, elements: int) -> timing.Timer:
        def timed(calls: int) -> float:
            print(json.dumps([name, elements, calls]), file=self._process.stdin, flush=True)
            return float(self._process.stdout.readline())

        return timed

    def close(self) -> None:
        self._process.communicate()


def work(threads: int) -> None:
    """Answer the requests of a `Worker`."""
    warnings.filterwarnings("ignore", category=DeprecationWarning, module="mxnet")
    import mxnet as mx

    import pykernels

    pykernels.load_ops()
    pool = ThreadPoolExecutor(threads)
    timers: dict[tuple[str, int], timing.Timer] = {}
    for line in sys.stdin:
        name, elements, calls = json.loads(line)
        if (name, elements) not in timers:
            timers.clear()
            timers[name, elements] = _copy(pool, threads, elements) if name == COPY else _op(mx, name, elements)
        print(timers[name, elements](calls), flush=True)


def _copy(pool: ThreadPoolExecutor, threads: int, elements: int) -> timing.Timer:
    """A copy that moves as many bytes as an op, on each of several threads at once.

    Each thread makes a whole copy, since copies of other sizes use other instructions.
    """
    copies = [timing.time_copy(2 * 4 * elements) for _ in range(threads)]

    def timed(calls: int) -> float:
        start = time.perf_counter()
        list(pool.map(lambda copy: copy(calls), copies))
        return (time.perf_counter() - start) / threads

    return timed


def _op(mx: Any, name: str, elements: int) -> timing.Timer:
    x, y = mx.nd.random.normal(shape=elements), mx.nd.zeros(elements)

    def timed(calls: int) -> float:
        mx.nd.waitall()
        start = time.perf_counter()
        for _ in range(calls):
            OPS[name](mx.nd, x, y)
        mx.nd.waitall()
        return time.perf_counter() - start

    return timed


def in_turn(timers: list[timing.Timer], elements: int, rounds: int) -> list[list[float]]:
    """Return the time per call of each timer in every round, with so few calls that some rounds are undisturbed."""
    calls = max(1, 4_000_000 // elements)
    times = [[timer(calls) for timer in timers] for _ in range(rounds + 1)]
    return [list(each) for each in zip(*times[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2, help="number of threads (default: 2)")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e5, 1e6, 1e7], help="elements (1e5 1e6 1e7)")
    parser.add_argument("--rounds", type=int, default=101, help="rounds (default: 101)")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker)
    table = Table("op", title=f"one thread ÷ {options.threads} threads, in MXNet")
    workers = [Worker(1), Worker(options.threads)]
    rows: dict[str, list[str]] = {name: [] for name in (COPY, *OPS)}
    for elements in map(int, options.sizes):
        table.add_column(f"{elements:,} elements", justify="right")
        for name, row in rows.items():
            one, several = in_turn([worker.timer(name, elements) for worker in workers], elements, options.rounds)
            ratios = (which(one) / which(several) for which in (statistics.median, min))
            row.append("{:.2f} ({:.2f})".format(*ratios))
    for worker in workers:
        worker.close()
    for name, row in rows.items():
        table.add_row(name, *row)
    Console().print(table)


if __name__ == "__main__":
    main()
