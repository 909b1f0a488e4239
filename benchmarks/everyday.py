"""Measure bodies of kernels that people write every day (``bodies.py``): their forms, compile times, and speed.

Run it with ``python benchmarks/everyday.py``. It compiles each body anew, then times kernel and plain NumPy in turn, on
one thread, round after round, and takes medians; NumPy writes into an existing array, as in frameworks. A body that
seems slower than NumPy is measured again with more rounds before it counts, since machines are noisy. Compile times are
processor time, without the import of numba; the parts of the C++ runtime, which are compiled once per machine beside
the first kernels that need them, count apart. Where PyTorch is installed, a run of all groups ends with
``torch_formulas.py``, which compares operators of models with PyTorch's own.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from bodies import ALL, BODIES, Body
from rich.console import Console
from rich.table import Table

from pykernels.base.errors import PykernelsWarning
from pykernels.frameworks import timing
from pykernels.tools.bench.measure import ONE_THREAD

SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: The factor by which a median must differ to count.
TOLERANCE = 1.05
#: The most processor time to compile a body, in seconds.
LONGEST = 3.0


def measure(body: Body, rounds: int, sizes: list[int]) -> dict[str, object]:
    """Return a body's form, the processor time of its compilation in seconds, and its time over NumPy's by size.

    The time is that of this process, and apart from it that of the compiler for parts of the runtime.
    """
    with tempfile.TemporaryDirectory() as folder:
        begin, runtime = time.process_time(), _time_of_children()
        call, _, _ = body.call(Path(folder), 100)
        row = {"body": body.name, "form": call.kernel.facts.form, "ratios": {}}
        row |= {"compile": time.process_time() - begin, "runtime": _time_of_children() - runtime}
        for size in sizes:
            call, made, _ = body.call(Path(folder), size)
            numpy_timer = timing.time_python(functools.partial(_store, call.plain(), made.copy()))
            timers = {"ours": timing.time_kernel(call), "NumPy": numpy_timer}
            for tried in (rounds, 3 * rounds, 9 * rounds):
                seconds = timing.medians(timers, tried)
                if seconds["ours"] <= TOLERANCE * seconds["NumPy"]:
                    break
            row["ratios"][str(size)] = seconds["ours"] / seconds["NumPy"]
    return row


def _store(compute: Callable[[], np.ndarray], made: np.ndarray) -> None:
    made[...] = compute()


def _time_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows(options: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield what `measure` returns for each body, from one process for each group, with a cache of its own."""
    for group in options.groups or BODIES:
        command = [sys.executable, __file__, group, "--child", "--rounds", str(options.rounds)]
        command += ["--sizes", *map(str, options.sizes)]
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, **ONE_THREAD, "PYKERNELS_CACHE": cache}
            with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
                assert child.stdout is not None
                yield from map(json.loads, child.stdout)
        if child.returncode:
            sys.exit(f"{group}: the process that measures ended with exit code {child.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="group", help=f"of {', '.join(BODIES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts (5)")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of elements")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.groups) - set(BODIES):
        parser.error(f"unknown group {', '.join(sorted(unknown))}; the groups are {', '.join(BODIES)}")
    if options.child:
        warnings.simplefilter("ignore", PykernelsWarning)
        importlib.import_module("pykernels.kernel.numba.compiler")  # once for all bodies, before the first is timed
        for body in ALL:
            if body.group in options.groups:
                print(json.dumps(measure(body, options.rounds, options.sizes)), flush=True)
        return
    table = Table("body", "form", title="kernel's time over plain NumPy's")
    for column in ("compiles in", "+ runtime"):
        table.add_column(column, justify="right")
    for size in options.sizes:
        table.add_column(f"{size:,}", justify="right")
    found = list(rows(options))
    for row in found:
        ratios = (f"[red]{ratio:.2f}" if ratio > TOLERANCE else f"{ratio:.2f}" for ratio in row["ratios"].values())
        table.add_row(row["body"], row["form"], f"{row['compile']:.1f} s", f"{row['runtime']:.1f} s", *ratios)
    console = Console()
    console.print(table)
    slower = sum(any(ratio > TOLERANCE for ratio in row["ratios"].values()) for row in found)
    compiled = sum(row["form"] != "Python" for row in found)
    long = sum(row["compile"] > LONGEST for row in found)
    console.print(f"{compiled} of {len(found)} compile, {long} in more than {LONGEST:g} s of processor time")
    console.print(f"the runtime takes up to {max(row['runtime'] for row in found):.1f} s more, once per machine")
    console.print(f"{slower} are slower than NumPy at a size")
    if not options.groups and importlib.util.find_spec("torch"):
        sys.exit(subprocess.call([sys.executable, Path(__file__).with_name("torch_formulas.py")]))


if __name__ == "__main__":
    main()
