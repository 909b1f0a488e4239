"""Compare ``f(x * a + b)`` under `torch.compile`: with our op as a call, fused (``fuse=True``), and as a formula.

Arithmetic takes most of the time of ``mish``, and memory most of that of ``hard_swish``.

Run it with ``python benchmarks/torch_fuse.py``. Times are medians of interleaved rounds; only ratios are meaningful.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.frameworks import timing
from pykernels.tools import cli

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h, at their largest values.
_MALLOC = {-1: 2**30, -3: 2**25}
#: Each function in NumPy and in PyTorch.
_FORMULAS = {
    "mish": ("x * np.tanh(np.log1p(np.exp(x)))", lambda x: x * torch.tanh(torch.log1p(torch.exp(x)))),
    "hard_swish": ("x * np.clip(x + 3, 0, 6) / 6", lambda x: x * torch.clip(x + 3, 0, 6) / 6),
}

Call = Callable[..., torch.Tensor]


def _compiled(function: Call, name: str) -> Call:
    def chain(x: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return function(x * a + b)

    # PyTorch keeps few versions of a function.
    chain.__code__ = chain.__code__.replace(co_name=name)
    return torch.compile(chain, fullgraph=True)


def _operator(folder: Path, name: str, formula: str, *, fuse: bool) -> Call:
    """Write an op and load it."""
    (folder / f"{name}.py").write_text(f"import numpy as np\n\n\ndef {name}(x):\n    return {formula}\n")
    with contextlib.redirect_stdout(io.StringIO()):
        if cli.main(["new", name, "--from", str(folder / f"{name}.py"), "--path", str(folder)]):
            raise SystemExit("the op cannot be made")
    pykernels.load_ops(folder / name, fuse=fuse)
    return getattr(torch.ops.pykernels, name)


def calls(folder: Path, name: str) -> dict[str, Call]:
    """Return the compiled functions by name, the formula in PyTorch first."""
    written, formula = _FORMULAS[name]
    found = {
        "formula": formula,
        "call": _operator(folder, f"{name}_called", written, fuse=False),
        "fused": _operator(folder, f"{name}_fused", written, fuse=True),
    }
    return {each: _compiled(function, f"{name}_{each}") for each, function in found.items()}


def _tensors(elements: int, *, grad: bool) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(elements)
    shapes = ((elements // 100, 100), (100,), (100,))
    return [torch.randn(shape, generator=generator).requires_grad_(grad) for shape in shapes]


def forward(call: Call, elements: int) -> Callable[[], object]:
    tensors = _tensors(elements, grad=False)
    return lambda: call(*tensors)


def forward_and_backward(call: Call, elements: int) -> Callable[[], object]:
    x, a, b = _tensors(elements, grad=False)
    x.requires_grad_()
    dy = torch.ones_like(x)
    return lambda: torch.autograd.grad(call(x, a, b), x, dy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median counts (15)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (1 2)")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1e6], help="numbers of elements (1e6)")
    options = parser.parse_args()
    # Otherwise it is a matter of luck which call returns its memory to the system and requests it again every time.
    for parameter, value in _MALLOC.items():
        ctypes.CDLL(None).mallopt(parameter, value)
    table = Table(title=f"f(x * a + b) under torch.compile, float32, median of {options.rounds}")
    columns = ("formula, us", "call, us", "fused, us", "fused ÷ call", "fused ÷ formula")
    for column in ("f", "", "threads", "elements", *columns):
        table.add_column(column, justify="right" if column in columns else "left")
    with tempfile.TemporaryDirectory() as folder:
        found = {name: calls(Path(folder), name) for name in _FORMULAS}
        passes = {"forward": forward, "forward + backward": forward_and_backward}
        for threads, name, row, size in itertools.product(options.threads, found, passes, options.sizes):
            torch.set_num_threads(threads)
            runs = {each: passes[row](call, int(size)) for each, call in found[name].items()}
            for run in runs.values():
                torch.testing.assert_close(run(), runs["formula"]())
            times = timing.medians({each: timing.time_python(run) for each, run in runs.items()}, options.rounds)
            cells = [f"{seconds * 1e6:,.0f}" for seconds in times.values()]
            ratios = [f"{times['fused'] / times[each]:.2f}" for each in ("call", "formula")]
            table.add_row(name, row, str(threads), f"{int(size):,}", *cells, *ratios)
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
