"""Find kernels that are slower than their functions in plain NumPy: every shipped op, at sizes from 1 to 1e7.

Run it with ``python benchmarks/kernels.py``. It times forward passes and gradients in float32 on one thread, kernel and
NumPy in turn, round after round, and takes medians. It prints only slower kernels, and a summary. A kernel that seems
slower is measured again with more rounds before it counts, since machines are noisy. If the function is a Python loop
that takes a hundred times as long, larger sizes are left out once it takes too long.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.table import Table

from pykernels.base import paths
from pykernels.base.errors import PykernelsError
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.frameworks import timing
from pykernels.load.module import OpModule
from pykernels.load.samples import sample
from pykernels.tools.bench.measure import ONE_THREAD

SIZES = [*(4**n for n in range(12)), 10_000_000]
#: The factor by which a median must differ to count, and how long to wait for NumPy at most, in seconds.
TOLERANCE, PATIENCE = 1.05, 1.0


def measure(name: str, rounds: int, largest: int) -> Iterator[dict[str, object]]:
    """Measure one op in this process: for each kernel and size, the ratio to NumPy, or None if it is left out."""
    module = OpModule(name, paths.OPS / name).py_api().cpp_def().py_kernel()
    # NumPy's seconds per element and the ratio for each kernel, at the previous size.
    last: dict[str, tuple[float, float]] = {}
    for size in (size for size in SIZES if size <= largest):
        try:
            forward = forward_step(module, sample(module, size, np.dtype(np.float32)))
        except PykernelsError:
            continue  # the op has no arrays this small
        forward.call.run()
        for step in [forward, *gradient_steps(module, forward)]:
            step.call.run()
            each, ratio = last.get(step.name, (0.0, 1.0))
            found = None
            if ratio > 0.01 or each * step.elements < PATIENCE:
                plain = timing.time_python(step.call.plain())
                found, seconds = _ratio({"ours": timing.time_kernel(step.call), "NumPy": plain}, rounds)
                last[step.name] = seconds / max(1, step.elements), found
            yield {"kernel": f"{name} {step.name}", "elements": step.elements, "ratio": found}


def _ratio(timers: dict[str, timing.Timer], rounds: int) -> tuple[float, float]:
    """Return the ratio of our time to NumPy's, and NumPy's time."""
    for tried in (rounds, 3 * rounds, 9 * rounds):
        seconds = timing.medians(timers, tried)
        if seconds["ours"] <= TOLERANCE * seconds["NumPy"]:
            break
    return seconds["ours"] / seconds["NumPy"], seconds["NumPy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*", help="names of shipped ops (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median counts (5)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the largest size to measure (10000000)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, rounds, largest = options.ops[0], options.rounds, options.largest
        for row in measure(name, rounds, largest):
            print(json.dumps(row), flush=True)
        return
    names = options.ops or sorted(
        path.name for path in paths.OPS.iterdir() if (path / f"{path.name}_py_api.py").exists()
    )
    table = Table("kernel", title="slower than plain NumPy")
    table.add_column("elements", justify="right")
    table.add_column("times as long", justify="right")
    measured = left_out = 0
    for name in names:
        command = [
            sys.executable,
            __file__,
            name,
            "--child",
            "--rounds",
            str(options.rounds),
            "--largest",
            str(options.largest),
        ]
        environment = {**os.environ, **ONE_THREAD}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for row in map(json.loads, child.stdout):
                measured += row["ratio"] is not None
                left_out += row["ratio"] is None
                if row["ratio"] is not None and row["ratio"] > TOLERANCE:
                    table.add_row(row["kernel"], f"{row['elements']:,}", f"{row['ratio']:.2f}")
        if child.returncode:
            sys.exit(f"{name}: the process that measures ended with exit code {child.returncode}")
    console = Console()
    if table.rows:
        console.print(table)
    console.print(f"{len(table.rows)} of {measured} are slower; {left_out} are left out because NumPy takes too long")


if __name__ == "__main__":
    main()
