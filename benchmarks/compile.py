"""Measure how long the first signature of each kernel takes to compile, with an empty cache.

Run it with ``python benchmarks/compile.py``. Each op has its own processes and caches; the minimum of several counts.
Before the clock starts, numba is imported, with everything that it imports when it first compiles. The definition,
which a C++ compiler builds, has its own line. The kernels of an op are built in the order of a training step, so the
forward pass comes first and includes one-time setup. The time is processor time, with compiler and linker, which equals
elapsed time on an idle machine. The last line shows how many machine codes an elementwise op has for several ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.base import paths
from pykernels.base.errors import PykernelsWarning
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.load.module import OpModule
from pykernels.load.samples import sample

#: How long a forward pass may take to compile, in seconds.
GOAL = 1.5
ELEMENTS = 64


class Clock:
    """The elapsed and processor seconds since the last reading."""

    def __init__(self) -> None:
        self._last = self._now()

    def read(self) -> tuple[float, float]:
        last, self._last = self._last, self._now()
        return self._last[0] - last[0], self._last[1] - last[1]

    def _now(self) -> tuple[float, float]:
        used = os.times()
        return used.elapsed, sum(used[:4])


def build(name: str) -> dict[str, tuple[str, float, float]]:
    """Build an op in this process; return the form, seconds and processor seconds of its definition and each kernel."""
    import numba

    numba.njit(lambda x: x)(1)  # makes numba import most of itself, and SciPy's linalg
    # Suppress the warning about kernels that run as Python, which the table shows.
    warnings.simplefilter("ignore", PykernelsWarning)
    clock = Clock()
    module = OpModule(name, paths.OPS / name).py_api().cpp_def().py_kernel()
    arguments = sample(module, ELEMENTS, np.dtype(np.float32))
    parts = {"definition": ("C++", *clock.read())}
    forward = forward_step(module, arguments)
    parts[forward.name] = (forward.call.kernel.facts.form, *clock.read())
    forward.call.run()
    for step in gradient_steps(module, forward):
        parts[step.name] = (step.call.kernel.facts.form, *clock.read())
    return parts


def count_codes(ranks: range) -> int:
    """Count the machine codes of `relu` after calls with several ranks and one dtype."""
    pykernels.load_ops(paths.OPS / "relu")
    for rank in ranks:
        pykernels.list_ops()["relu"].api.relu(np.ones((2,) * rank, np.float32))
    return sum(file.stat().st_size > 0 for file in Path(os.environ["PYKERNELS_CACHE"]).glob("kernels/*/kernel.so"))


def in_a_new_process(*arguments: str) -> str:
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYKERNELS_CACHE": cache}
        command = [sys.executable, __file__, *arguments]
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*", help="names of shipped ops (default: all)")
    parser.add_argument("--processes", type=int, default=3, help="new processes for each op, whose minimum counts (3)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.ops or sorted(
        path.name for path in paths.OPS.iterdir() if (path / f"{path.name}_py_api.py").exists()
    )
    if options.child:
        print(json.dumps(build(*options.ops) if options.ops else count_codes(range(1, 5))))
        return
    table = Table("op", "part", "form", title=f"compile times, least of {options.processes} processes")
    for column in ("s", "processor, s"):
        table.add_column(column, justify="right")
    table.add_column(f"at most {GOAL} s")
    slow = 0
    for name in names:
        runs = [json.loads(in_a_new_process("--child", name)) for _ in range(options.processes)]
        for at, (part, (form, *_)) in enumerate(runs[0].items()):
            passed, used = (min(run[part][which] for run in runs) for which in (1, 2))
            is_met = used <= GOAL
            slow += at > 0 and not is_met
            judged = "" if at == 0 else "yes" if is_met else "no"
            table.add_row("" if at else name, part, form, f"{passed:.2f}", f"{used:.2f}", judged)
    console = Console()
    console.print(table)
    console.print(f"{slow or 'no'} kernels take more than {GOAL} s")
    codes = in_a_new_process("--child").strip()
    console.print(f"relu of 1, 2, 3 and 4 axes, float32: {codes} machine code" + ("s" if codes != "1" else ""))


if __name__ == "__main__":
    main()
