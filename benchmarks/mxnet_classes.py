"""Measure a class in MXNet over many passes of a hybridized net: time, memory and threads, stretch by stretch.

Run it with ``python benchmarks/mxnet_classes.py``, and with ``--register mxnet.operator`` for MXNet's own register.
Nothing waits within a stretch, so that passes are in flight as in training. Memory and threads must not grow after the
first stretch.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="mxnet")

import mxnet as mx
from rich.console import Console
from rich.table import Table

import pykernels

REGISTER = {"pykernels": pykernels.register, "mxnet.operator": mx.operator.register}
STRETCHES = 10


class Double(mx.operator.CustomOp):
    """A minimal class."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


class DoubleProp(mx.operator.CustomOpProp):
    """The properties of `Double`."""

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Double()


class Net(mx.gluon.HybridBlock):
    """The class between two operators of MXNet."""

    def hybrid_forward(self, F, x):  # noqa: N803
        return F.Custom(x + 1, op_type="benchmark_double") + 1


def run(net: Net, passes: int) -> float:
    """Return the microseconds for a forward and a backward pass."""
    x = mx.nd.ones((4, 8))
    x.attach_grad()
    start = time.perf_counter()
    for _ in range(passes):
        with mx.autograd.record():
            y = net(x)
        y.backward()
    mx.nd.waitall()
    return (time.perf_counter() - start) / passes * 1e6


def resident_mebibytes() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--register",
        choices=REGISTER,
        default="pykernels",
        help="the package whose register is used (default: pykernels)",
    )
    parser.add_argument("--passes", type=int, default=100_000, help="forward and backward passes (default: 100000)")
    options = parser.parse_args()
    REGISTER[options.register]("benchmark_double")(DoubleProp)
    net = Net()
    net.hybridize()

    table = Table(title=f"a class of {options.register}.register, {options.passes:,} passes of a hybridized net")
    for column in ("passes", "us", "memory, MiB", "threads"):
        table.add_column(column, justify="right")
    table.add_row("0", "", f"{resident_mebibytes():.1f}", str(len(os.listdir("/proc/self/task"))))
    stretch = max(1, options.passes // STRETCHES)
    for i in range(1, STRETCHES + 1):
        microseconds = run(net, stretch)
        threads = len(os.listdir("/proc/self/task"))
        table.add_row(f"{i * stretch:,}", f"{microseconds:.1f}", f"{resident_mebibytes():.1f}", str(threads))
    Console().print(table)


if __name__ == "__main__":
    main()
