"""Compare the time of a call in PyTorch: our sigmoid, PyTorch's own, and Python custom_ops.

Run it with ``python benchmarks/torch_call.py``. Times are medians of interleaved rounds, because machines are noisy;
only ratios are meaningful. All use the same number of threads.

One custom_op is written in NumPy, like our kernel, in the style of PyTorch's tutorial. The other calls torch.sigmoid
itself, which is the lower bound of any custom_op. The gradients of both are operators, too, like ours, so that all can
be exported with their gradients.

`torch.autograd.grad` itself takes longer than any op on a few elements, which hides the differences between single ops.
So the passes are also timed through ten ops in a row, as in networks.
"""

from __future__ import annotations

import argparse
import ctypes
import os
from collections.abc import Callable

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import pykernels
from pykernels.frameworks import timing

#: A size at which only the overhead of calls counts.
FEW = 4
#: The number of ops in a row.
DEPTH = 10
# M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h, at their largest values.
_MALLOC = {-1: 2**30, -3: 2**25}

Call = Callable[[torch.Tensor], torch.Tensor]


@torch.library.custom_op("benchmark::torch_sigmoid", mutates_args=())
def torch_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x)


@torch.library.custom_op("benchmark::torch_sigmoid_backward", mutates_args=())
def torch_sigmoid_backward(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    return dy * y * (1 - y)


@torch.library.custom_op("benchmark::numpy_sigmoid", mutates_args=())
def numpy_sigmoid(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(1 / (1 + np.exp(-x.numpy())))


@torch.library.custom_op("benchmark::numpy_sigmoid_backward", mutates_args=())
def numpy_sigmoid_backward(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    y_np = y.numpy()
    return torch.from_numpy(dy.numpy() * y_np * (1 - y_np))


def _setup_context(ctx, inputs, output):
    ctx.save_for_backward(output)


def _register_gradient(forward, backward) -> None:
    forward.register_autograd(lambda ctx, dy: backward(*ctx.saved_tensors, dy), setup_context=_setup_context)


_register_gradient(torch_sigmoid, torch.ops.benchmark.torch_sigmoid_backward)
_register_gradient(numpy_sigmoid, torch.ops.benchmark.numpy_sigmoid_backward)


def calls() -> dict[str, Call]:
    """Return the calls by name, PyTorch's own first."""
    return {
        "torch.sigmoid": torch.sigmoid,
        "pykernels": torch.ops.pykernels.sigmoid,
        "NumPy custom_op": torch.ops.benchmark.numpy_sigmoid,
        "torch custom_op": torch.ops.benchmark.torch_sigmoid,
    }


def forward(call: Call, elements: int) -> Callable[[], object]:
    x = torch.randn(elements)
    return lambda: call(x)


def forward_and_backward(call: Call, elements: int) -> Callable[[], object]:
    x, dy = torch.randn(elements, requires_grad=True), torch.randn(elements)
    return lambda: torch.autograd.grad(call(x), x, dy)


def forward_and_backward_in_a_row(call: Call, elements: int) -> Callable[[], object]:
    x, dy = torch.randn(elements, requires_grad=True), torch.randn(elements)

    def run() -> object:
        y = x
        for _ in range(DEPTH):
            y = call(y)
        return torch.autograd.grad(y, x, dy)

    return run


def _verdict(holds: bool) -> str:
    return "yes" if holds else "no"


def goals(ratios: dict[str, float], elements: int) -> str:
    """Return each goal for our op, and whether it is met."""
    most = 2.0 if elements == FEW else 1.0
    lines = [f"<= {most:g}: {_verdict(ratios['pykernels'] <= most)}"]
    for name, own in ratios.items():
        if elements == FEW and name.endswith("custom_op"):
            times = own / ratios["pykernels"]
            lines.append(f"{name} ÷ ours {times:.1f} (÷ torch.sigmoid {own:.1f}) >= 5: {_verdict(times >= 5)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="rounds of which the median counts (15)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="numbers of threads (1 2)")
    parser.add_argument("--sizes", type=float, nargs="+", default=[FEW, 1e6, 1e7], help="numbers of elements")
    options = parser.parse_args()
    # Otherwise it is a matter of luck which call returns its memory to the system and requests it again every time.
    for parameter, value in _MALLOC.items():
        ctypes.CDLL(None).mallopt(parameter, value)
    pykernels.load_ops()
    for call in calls().values():
        call(torch.ones(FEW))  # builds what it needs
    # Forward passes without gradients, on tensors that require none.
    passes = {
        "forward": forward,
        "forward + backward": forward_and_backward,
        f"forward + backward, {DEPTH} in a row": forward_and_backward_in_a_row,
    }
    for threads in options.threads:
        torch.set_num_threads(threads)
        table = Table(title=f"sigmoid, float32, {threads} threads, median of {options.rounds}")
        for column in ("", "elements", *(f"{name}, us" for name in calls()), "÷ torch.sigmoid", "goal"):
            table.add_column(column, justify="left" if column in ("", "goal") else "right", overflow="fold")
        for row, make in passes.items():
            for elements in map(int, options.sizes):
                timers = {name: timing.time_python(make(call, elements)) for name, call in calls().items()}
                found = timing.medians(timers, options.rounds)
                ratios = {name: seconds / found["torch.sigmoid"] for name, seconds in found.items()}
                times = [f"{seconds * 1e6:,.1f}" for seconds in found.values()]
                table.add_row(row, f"{elements:,}", *times, f"{ratios['pykernels']:.2f}", goals(ratios, elements))
        Console(width=210).print(table)


if __name__ == "__main__":
    main()
