"""Compare what a class costs with `pykernels.register` and with MXNet's own register: time, memory and threads.

Run it with ``python benchmarks/mxnet_classes.py``. Each class stands between two operators of a hybridized net; a pass
is forward and backward. Two processes, one for each register, take turns, stretch by stretch: of passes
that are in flight together, as in training, or of passes one at a time. Processor time includes that of MXNet's
threads. Memory and the number of threads must not grow after the first stretch.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="mxnet")

import mxnet as mx
from mxnet_call import PythonSigmoid
from rich.console import Console
from rich.table import Table

import pykernels

REGISTERS = {"pykernels": pykernels.register, "MXNet": mx.operator.register}
STRETCHES = 10


class Double(mx.operator.CustomOp):
    """Computes with MXNet's arrays."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)


CLASSES = {"Double": Double, "PythonSigmoid": PythonSigmoid}
WAYS = ("in flight", "one at a time")


def net_of(operator: type[mx.operator.CustomOp], register: str) -> mx.gluon.HybridBlock:
    """Return a hybridized net with the class between two operators of MXNet."""

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return operator()

    class Net(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            return F.Custom(x + 1, op_type=name) + 1

    name = f"benchmark_{operator.__name__}_{register}".lower()
    REGISTERS[register](name)(Prop)
    net = Net()
    net.hybridize()
    return net


def run(net: mx.gluon.HybridBlock, passes: int, *, is_waiting: bool) -> tuple[float, float]:
    """Return the microseconds of a pass: of all processors, and of the clock."""
    x = mx.nd.ones((4, 8))
    x.attach_grad()
    begin = time.process_time(), time.perf_counter()
    for _ in range(passes):
        with mx.autograd.record():
            y = net(x)
        y.backward()
        if is_waiting:
            mx.nd.waitall()
    mx.nd.waitall()
    return (time.process_time() - begin[0]) / passes * 1e6, (time.perf_counter() - begin[1]) / passes * 1e6


def measure_stretches(operator: str, register: str, way: str) -> None:
    """Run a stretch of passes for each line of standard input, and print a line with what it took."""
    net = net_of(CLASSES[operator], register)
    for line in sys.stdin:
        processors, clock = run(net, int(line), is_waiting=way != WAYS[0])
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        mebibytes = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        print(json.dumps([processors, clock, mebibytes, len(os.listdir("/proc/self/task"))]), flush=True)


def stretches(operator: str, way: str, passes: int) -> dict[str, list[list[float]]]:
    """Return what each stretch took, by register: microseconds of processors and clock, memory in MiB, threads."""
    taken: dict[str, list[list[float]]] = {register: [] for register in REGISTERS}
    with contextlib.ExitStack() as stack:
        children = {
            register: stack.enter_context(
                subprocess.Popen(
                    [sys.executable, __file__, "--child", operator, register, way],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for register in REGISTERS
        }
        for _ in range(STRETCHES):
            for register, child in children.items():
                child.stdin.write(f"{passes}\n")
                child.stdin.flush()
                taken[register].append(json.loads(child.stdout.readline()))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=50_000, help="passes of each class and register (default: 50000)")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure_stretches(*options.child)
        return
    passes = max(1, options.passes // STRETCHES)
    table = Table(title=f"a pass of a class, medians of {STRETCHES} times {passes:,} passes")
    for column in ("class", "passes", "register"):
        table.add_column(column)
    for column in ("processors, us", "clock, us", "÷ MXNet", "MiB", "threads"):
        table.add_column(column, justify="right")
    for operator, way in itertools.product(CLASSES, WAYS):
        taken = stretches(operator, way, passes)
        processors = {register: statistics.median(each[0] for each in rows) for register, rows in taken.items()}
        for register, rows in taken.items():
            clock = statistics.median(each[1] for each in rows)
            (*_, before, _), (*_, after, threads) = rows[0], rows[-1]
            ratio = processors[register] / processors["MXNet"]
            times = (f"{processors[register]:.0f}", f"{clock:.0f}", f"{ratio:.2f}")
            table.add_row(operator, way, register, *times, f"{before:.0f} to {after:.0f}", str(threads))
    Console().print(table)


if __name__ == "__main__":
    main()
