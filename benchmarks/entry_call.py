"""Measure the overhead of one call of a kernel from C, with only 4 elements to compute.

Run it with ``python benchmarks/entry_call.py``. Frameworks add their own overhead to this. Kernels are called in
training mode, on one thread, all in turn, round after round; the median counts. Beside each stands the time of plain
NumPy.
"""

from __future__ import annotations

import argparse
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from rich.console import Console
from rich.table import Table

from pykernels.base import paths
from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks import timing
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample, sample

#: How long a call may take, in seconds.
GOAL = 100e-9
ELEMENTS = 4


def arguments(module: OpModule) -> Sample:
    """Return arguments whose largest array has 4 elements or few more."""
    if module.name != "roi_align":
        return sample(module, ELEMENTS, np.dtype(np.float32))
    # Its own sample has 16 regions of 49 bins; this one has 1 region of 1 bin, in an image of 4 pixels.
    data, region = np.ones((1, 1, 2, 2), np.float32), np.array([[0, 0, 0, 1, 1]], np.float32)
    attributes = module.forward.parse_attributes({"pooled_height": 1, "pooled_width": 1})
    return Sample([[data], [region]], attributes)


def steps(name: str) -> list[Step]:
    """Return the kernels of an op, ready to call."""
    module = OpModule(name, paths.OPS / name).py_api().cpp_def().py_kernel()
    forward = forward_step(module, arguments(module))
    forward.call.run()
    gradient = gradient_steps(module, forward)
    for step in gradient:
        step.call.run()
    return [forward, *gradient]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ops", nargs="*", help="names of shipped ops (default: all)")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of which the median counts (9)")
    options = parser.parse_args()
    names = options.ops or sorted(
        path.name for path in paths.OPS.iterdir() if (path / f"{path.name}_py_api.py").exists()
    )
    kernels = {f"{name} {step.name}": step for name in names for step in steps(name)}
    ours = timing.medians({what: timing.time_kernel(step.call) for what, step in kernels.items()}, options.rounds)
    numpys = timing.medians({what: timing.time_python(step.call.plain()) for what, step in kernels.items()}, 1)
    table = Table("kernel", "form", title=f"one call of {ELEMENTS} elements, float32, median of {options.rounds}")
    for column in ("ns", f"under {GOAL * 1e9:.0f} ns", "NumPy, us"):
        table.add_column(column, justify="right")
    for what, step in kernels.items():
        is_met = "yes" if ours[what] < GOAL else "no"
        form = step.call.kernel.facts.form
        table.add_row(what, form, f"{ours[what] * 1e9:.0f}", is_met, f"{numpys[what] * 1e6:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
