"""Compare operators that are written as NumPy from their formulas (``formulas.py``) with PyTorch's own.

Run it with ``python benchmarks/torch_formulas.py``. Both are called in PyTorch, on one thread, in turn, round after
round; medians count. Their results and gradients are compared first. PyTorch has no operator for rotary embeddings: its
peer is the usual expression.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
from formulas import ALL, Formula
from rich.console import Console
from rich.table import Table
from torch.nn import functional

import pykernels
from pykernels.frameworks import timing

# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h, at their largest values.
_MALLOC = {-1: 2**30, -3: 2**25}
#: The ratio to reach.
GOAL = 1.2

Call = Callable[..., object]


def _rotary_embedding(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


#: PyTorch's own operator, by the name of ours.
OWN: dict[str, Call] = {
    "group_norm": lambda x, weight, bias: functional.group_norm(x, 8, weight, bias),
    "rms_norm": lambda x, weight: functional.rms_norm(x, weight.shape, weight, 1e-6),
    "rotary_embedding": _rotary_embedding,
    "depthwise_convolution": lambda x, w: functional.conv1d(x, w[:, None], padding=w.shape[1] // 2, groups=w.shape[0]),
    "top_k": lambda x: torch.topk(x, 5),
    "segment_sum": lambda x, segment: x.new_zeros(100, x.shape[1]).index_add(0, segment, x),
    "grid_sample": lambda x, grid: functional.grid_sample(x, grid, align_corners=False),
    "cross_entropy": functional.cross_entropy,
}


class Pair:
    """Our operator and PyTorch's, with tensors to call them with."""

    def __init__(self, formula: type[Formula]) -> None:
        self.name = formula.__name__
        self.calls: dict[str, Call] = {"PyTorch": OWN[self.name], "ours": getattr(torch.ops.pykernels, self.name)}
        self._tensors = [torch.from_numpy(array) for array in formula.sample(np.random.default_rng(0))]
        wanted = [name in formula.gradients for name in formula.inputs()]
        self._leaves = [
            tensor.clone().requires_grad_() if is_wanted else tensor for tensor, is_wanted in zip(self._tensors, wanted)
        ]
        self._wanted = [tensor for tensor, is_wanted in zip(self._leaves, wanted) if is_wanted]
        first = _first(self.calls["PyTorch"](*self._tensors))
        self._head = torch.randn(first.shape, generator=torch.Generator().manual_seed(0))

    def forward(self, name: str) -> object:
        """Call one of both, on tensors that require no gradient."""
        return self.calls[name](*self._tensors)

    def forward_and_backward(self, name: str) -> tuple[torch.Tensor, ...]:
        """Return the gradients."""
        return torch.autograd.grad(_first(self.calls[name](*self._leaves)), self._wanted, self._head)

    def difference(self) -> float:
        """Return the largest difference of results and gradients, over the largest number in each."""
        found = []
        for run in (self.forward, self.forward_and_backward):
            own, ours = (_members(run(name)) for name in self.calls)
            assert len(own) == len(ours)
            for a, b in zip(own, ours):
                assert a.shape == b.shape, (self.name, a.shape, b.shape)
                found.append(float((a.double() - b.double()).abs().max() / max(1e-9, float(a.abs().max()))))
        return max(found)


def _members(result: object) -> tuple[torch.Tensor, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _first(result: object) -> torch.Tensor:
    return _members(result)[0]


def pairs(folder: Path) -> list[Pair]:
    """Write and load the operators; return them beside PyTorch's."""
    for formula in ALL:
        formula.write(folder)
    pykernels.load_ops(folder)
    return [Pair(formula) for formula in ALL]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(OWN)} (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median counts (15)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(OWN):
        parser.error(f"unknown name {', '.join(sorted(unknown))}; the names are {', '.join(OWN)}")
    # Otherwise it is a matter of luck which call returns its memory to the system and requests it again every time.
    for parameter, value in _MALLOC.items():
        ctypes.CDLL(None).mallopt(parameter, value)
    torch.set_num_threads(1)
    table = Table(
        "", "difference", title=f"time of ours over PyTorch's, float32, one thread, median of {options.rounds}"
    )
    for column in ("forward, ms", "ratio", "forward + backward, ms", "ratio"):
        table.add_column(column, justify="right")
    met = 0
    with tempfile.TemporaryDirectory() as folder:
        found = [pair for pair in pairs(Path(folder)) if pair.name in (options.names or OWN)]
        for pair in found:
            cells = [f"{pair.difference():.1g}"]
            for run in (pair.forward, pair.forward_and_backward):
                timers = {name: timing.time_python(lambda name=name, run=run: run(name)) for name in pair.calls}
                seconds = timing.medians(timers, options.rounds)
                ratio = seconds["ours"] / seconds["PyTorch"]
                met += ratio <= GOAL
                cells += [f"{seconds['ours'] * 1e3:.3f}", f"{'[red]' if ratio > GOAL else ''}{ratio:.2f}"]
            table.add_row(pair.name, *cells)
    console = Console()
    console.print(table)
    console.print(f"{met} of {2 * len(found)} are at most {GOAL}")


if __name__ == "__main__":
    main()
