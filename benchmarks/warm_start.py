"""Measure how long a new process takes to load pykernels and first run ten ops, with everything in the cache.

Run it with ``python benchmarks/warm_start.py``. Each process is new; the median of several counts. NumPy, which every
framework imports anyway, is imported before the clock starts. The folder of the ops is given, because looking for
installed packages needs importlib.metadata, another 15 ms if no framework has imported it.
"""

from __future__ import annotations

# Whatever only the parent needs is imported where it is used: a child must not have it when its clock starts.
import json
import os
import subprocess
import sys
import time

OPS = {
    "sigmoid": [(64, 64)],
    "tanh": [(64, 64)],
    "relu": [(64, 64)],
    "leaky_relu": [(64, 64)],
    "smooth_l1": [(64, 64)],
    "softmax": [(64, 64)],
    "dropout": [(64, 64)],
    "dense": [(64, 64), (32, 64)],
    "layer_norm": [(64, 64), (64,), (64,)],
    "box_clip": [(64, 4)],
}
ATTRIBUTES = {"box_clip": {"height": 1.0, "width": 1.0}}


def run_in_this_process() -> dict[str, float | list[str]]:
    """Milliseconds of each part, and the modules that are imported in the end."""
    import numpy as np

    times = {}
    start = time.perf_counter()

    def stop(part: str) -> None:
        nonlocal start
        now = time.perf_counter()
        times[part], start = (now - start) * 1e3, now

    import pykernels
    from pykernels.base import paths

    stop("import pykernels")
    ops = pykernels.load_ops(paths.OPS)
    stop("load_ops()")
    for name, shapes in OPS.items():
        getattr(ops[name].api, name)(*(np.ones(shape, np.float32) for shape in shapes), **ATTRIBUTES.get(name, {}))
    stop(f"first calls of {len(OPS)} ops")
    return {**times, "modules": sorted(sys.modules)}


def run_in_a_new_process(bytecode: str) -> dict[str, float]:
    # As when installed: Python has compiled the modules already.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, __file__, "--child"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    del result["modules"]
    return result


def show(runs: list[dict[str, float]]) -> None:
    import statistics

    from rich.console import Console
    from rich.table import Table

    table = Table("part", title=f"a warm start, median of {len(runs)} processes")
    table.add_column("ms", justify="right")
    for part in runs[0]:
        table.add_row(part, f"{statistics.median(run[part] for run in runs):.1f}")
    table.add_section()
    table.add_row("together", f"{statistics.median(sum(run.values()) for run in runs):.1f}")
    Console().print(table)


def main() -> None:
    import argparse
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=15, help="new processes, of which the median counts (15)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as bytecode:
        # The first process builds what is not in the cache.
        run_in_a_new_process(bytecode)
        show([run_in_a_new_process(bytecode) for _ in range(options.processes)])


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        print(json.dumps(run_in_this_process()))
    else:
        main()
