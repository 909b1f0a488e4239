"""Compare elementwise kernels with memory copies of as many bytes, and with the frameworks' own sigmoid and tanh.

Run it with ``python benchmarks/elementwise.py``; frameworks that are not installed are left out. Everything runs on one
thread, in float32. The candidates are timed in turn, round after round, and only ratios of medians are meaningful.

Kernels and copies are timed twice: on data from memory, with so many arrays in turn that the caches cannot hold them,
and on data in the cache, if it fits.
"""

from __future__ import annotations

import os

from pykernels.tools.bench.measure import ONE_THREAD

os.environ.update(ONE_THREAD)

import argparse
import itertools
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from pykernels.base.paths import OPS
from pykernels.call.steps import Step, forward_step, gradient_steps
from pykernels.frameworks import timing
from pykernels.load.module import OpModule
from pykernels.load.samples import Sample
from pykernels.tools.bench import built_in

warnings.filterwarnings("ignore", category=DeprecationWarning, module="mxnet")

#: The longest time of a kernel, in copies, by the number of transcendental functions that it computes.
GOALS = (1.2, 1.6, 2.5)
TORCH_OUT = "torch.sigmoid(out=)"
#: The shortest time of another library's op, in kernels of ours.
AT_LEAST = {("sigmoid", "MXNet"): 5, ("sigmoid", TORCH_OUT): 1, ("tanh", "MXNet"): 20}
DEFINITION = """
    import pykernels


    class Op(pykernels.CustomOpProp):
        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return [*out_grad, *{needs}]
"""
KERNEL = """
    import numpy as np
    from scipy import special


    def forward(args):
        (x,) = args
        return {forward}


    def backward(args):
        dy, {needs} = args
        return {backward}
"""


@dataclass(frozen=True)
class Kernel:
    """What a kernel file computes: from ``x``, and from ``dy`` and the other inputs that the gradient `needs`.

    `functions` is the number of transcendental functions in each.
    """

    functions: tuple[int, int]
    forward: str
    backward: str
    needs: str = "x"

    def write(self, folder: Path) -> None:
        folder.mkdir()
        kernel = KERNEL.format(forward=self.forward, backward=self.backward, needs=self.needs)
        definition = DEFINITION.format(needs={"x": "in_data", "y": "out_data"}[self.needs])
        (folder / f"{folder.name}_py_kernel.py").write_text(textwrap.dedent(kernel))
        (folder / f"{folder.name}_py_def.py").write_text(textwrap.dedent(definition))


SIGMOID = "1 / (1 + np.exp(-x))"
TANH = "np.tanh(0.7978845608 * (x + 0.044715 * x * x * x))"
ERF = "special.erf(0.7071067812 * x)"
WRITTEN = {
    "exp": Kernel((1, 0), "np.exp(x)", "dy * y", needs="y"),
    "log": Kernel((1, 0), "np.log(x)", "dy / x"),
    "softplus": Kernel((2, 1), "np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))", f"dy * ({SIGMOID})"),
    "gelu_erf": Kernel(
        (1, 2), f"0.5 * x * (1 + {ERF})", f"dy * (0.5 * (1 + {ERF}) + 0.3989422804 * x * np.exp(-0.5 * x * x))"
    ),
    "gelu_tanh": Kernel(
        (1, 1),
        f"0.5 * x * (1 + {TANH})",
        f"dy * 0.5 * (1 + {TANH} + x * (1 - {TANH} ** 2) * (0.7978845608 + 0.1070322243 * x * x))",
    ),
    "swish": Kernel((1, 1), "x / (1 + np.exp(-x))", f"dy * ({SIGMOID}) * (1 + x * (1 - {SIGMOID}))"),
    "hard_sigmoid": Kernel(
        (0, 0), "np.clip(0.2 * x + 0.5, 0, 1)", "np.where((y > 0) & (y < 1), 0.2 * dy, 0)", needs="y"
    ),
    "clip": Kernel((0, 0), "np.clip(x, -1, 1)", "np.where((x >= -1) & (x <= 1), dy, 0)"),
}
#: The number of transcendental functions that each kernel computes; the first four are those of `OPS`.
FUNCTIONS = {
    **dict.fromkeys(("relu", "leaky_relu"), (0, 0)),
    **dict.fromkeys(("sigmoid", "tanh"), (1, 0)),
    **{name: kernel.functions for name, kernel in WRITTEN.items()},
}


def steps(module: OpModule, elements: int) -> tuple[Step, Step]:
    """The forward and the backward pass, each on its own arrays."""
    x = np.random.default_rng(0).standard_normal(elements, np.float32)
    if module.name == "log":
        x = np.abs(x) + np.float32(0.05)
    forward = forward_step(module, Sample([[x]], module.forward.parse_attributes({})))
    forward.call.run()
    (backward,) = gradient_steps(module, forward)
    return forward, backward


def cache_bytes() -> int:
    """Return the size of the largest cache."""
    sizes = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max((int(size.read_text().strip().removesuffix("K")) << 10 for size in sizes), default=1 << 25)


def in_turn(timers: Sequence[timing.Timer]) -> timing.Timer:
    """Time calls in processor time, which other programs on the machine affect less."""
    following = itertools.cycle(timers)

    def timed(calls: int) -> float:
        start = time.thread_time()
        for _ in range(calls):
            next(following)(1)
        return time.thread_time() - start

    return timed


def in_copies(pool: Sequence[Step], rounds: int) -> float:
    """Return the time of a kernel in copies, on the arrays of all these steps in turn."""
    timers = {
        "kernel": in_turn([timing.time_kernel(step.call) for step in pool]),
        "copy": in_turn([timing.time_copy(step.nbytes) for step in pool]),
    }
    seconds = timing.medians(timers, rounds)
    return seconds["kernel"] / seconds["copy"]


def others(name: str, forward: Step) -> dict[str, timing.Timer]:
    """Return the installed alternatives that the kernel should beat."""
    if not any(op == name for op, _ in AT_LEAST):
        return {}
    found = {framework: pair[0] for framework, pair in built_in.timers(name, forward).items()}
    if "PyTorch" in found:
        import torch

        x = torch.from_numpy(forward.inputs[0][0].copy())
        y = torch.empty_like(x)
        found[TORCH_OUT] = timing.time_python(lambda: torch.sigmoid(x, out=y))
    return {other: timer for other, timer in found.items() if (name, other) in AT_LEAST}


def extra_mebibytes(run: Callable[[], object]) -> float:
    """Return by how much the peak memory of the process grows during a call."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = _status("VmRSS")
    run()
    return max(0, _status("VmHWM") - before) / 1024


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


class Report:
    """The tables, filled kernel by kernel."""

    def __init__(self, rounds: int, cache: int) -> None:
        self._rounds, self._cache = rounds, cache
        self._copies = _table("kernel ÷ copy", "elements", "from memory", "in cache", "goal")
        self._others = _table("other ÷ kernel", "elements", "other", "ratio", "goal")
        self._memory = _table("MiB beside inputs and outputs", "elements", "ours", "plain NumPy")

    def add(self, name: str, folder: Path, elements: int) -> None:
        module = OpModule(name, folder).cpp_def().py_kernel()
        pool = [steps(module, elements)]
        pool += [steps(module, elements) for _ in range(3 * self._cache // pool[0][0].nbytes)]
        forward = pool[0][0]
        for same, n_functions in zip(zip(*pool), FUNCTIONS[name]):
            goal, fits = GOALS[n_functions], 2 * same[0].nbytes <= self._cache
            ratios = [in_copies(part, self._rounds) for part in ([same, same[:1]] if fits else [same])]
            cells = [_judged(f"{ratio:.2f}", ratio <= goal) for ratio in ratios]
            self._copies.add_row(f"{name} {same[0].name}", f"{elements:,}", *cells, *["-"] * (not fits), f"<= {goal}")
        for other, timer in others(name, forward).items():
            seconds = timing.medians({"ours": timing.time_kernel(forward.call), other: timer}, self._rounds)
            ratio, goal = seconds[other] / seconds["ours"], AT_LEAST[name, other]
            self._others.add_row(name, f"{elements:,}", other, _judged(f"{ratio:.1f}", ratio >= goal), f">= {goal}")
        extra = (extra_mebibytes(run) for run in (forward.call.run, forward.call.plain()))
        self._memory.add_row(name, f"{elements:,}", *(f"{each:.0f}" for each in extra))

    def show(self) -> None:
        console = Console()
        for table in (self._copies, self._others, self._memory):
            console.print(table)


def _table(title: str, *columns: str) -> Table:
    table = Table("kernel", title=title)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _judged(ratio: str, met: bool) -> str:
    return f"{ratio} [green]   met[/]" if met else f"{ratio} [red]missed[/]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="*", metavar="kernel", help=f"of {', '.join(FUNCTIONS)} (default: all)")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e6, 1e7], help="elements (default: 1e6 1e7)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median counts (default: 15)")
    parser.add_argument("--cache", type=float, default=cache_bytes(), help="bytes of the largest cache (the machine's)")
    options = parser.parse_args()
    unknown = sorted(set(options.kernels) - set(FUNCTIONS))
    if unknown:
        parser.error(f"unknown kernel {', '.join(unknown)}; the kernels are {', '.join(FUNCTIONS)}")
    report = Report(options.rounds, int(options.cache))
    with tempfile.TemporaryDirectory() as home:
        for name in options.kernels or FUNCTIONS:
            folder = Path(home, name) if name in WRITTEN else OPS / name
            if name in WRITTEN:
                WRITTEN[name].write(folder)
            for elements in options.sizes:
                report.add(name, folder, int(elements))
    report.show()


if __name__ == "__main__":
    main()
