"""Implement ``python -m pykernels bench``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base import progress
from pykernels.base.errors import KernelError, PykernelsError
from pykernels.base.version import __version__
from pykernels.tools.commands import arguments
from pykernels.tools.commands.output import complain, show
from pykernels.tools.process import ModuleProcess, describe_end

if TYPE_CHECKING:
    from pykernels.tools.bench.measure import Request, Row


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("bench", help="measure how fast ops are", description=_run.__doc__)
    arguments.add_ops(parser)
    parser.add_argument(
        "--sizes",
        type=arguments.whole_number,
        nargs="+",
        default=[4, 1000, 1_000_000, 10_000_000],
        metavar="N",
        help="the approximate number of elements of the largest array (4 1e3 1e6 1e7)",
    )
    arguments.add_dtype(parser)
    arguments.add_inputs(parser)
    parser.add_argument(
        "--rounds",
        type=arguments.whole_number,
        default=9,
        metavar="N",
        help="the number of rounds, of which the median counts (9)",
    )
    parser.add_argument(
        "--limit",
        type=arguments.whole_number,
        default=120,
        metavar="S",
        help="how long a kernel may take at one size, in seconds (120)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a plot as well (.png, .svg, .pdf)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Time kernels on one thread, and for comparison a memory copy, plain NumPy and the frameworks' own ops."""
    from pykernels.tools.bench import plot
    from pykernels.tools.bench.measure import Request

    modules = arguments.find_modules(options.ops)
    if options.plot:
        plot.check(options.plot)
    # Given shapes determine the size.
    sizes = tuple(options.sizes[:1] if options.shapes else options.sizes)
    rows: list[Row] = []
    failed = []
    with progress.bar("measuring", len(modules)) as bar:
        for module in modules:
            bar.begin(module.name)
            request = Request(
                folder=str(module.path),
                sizes=sizes,
                dtype=str(options.dtype),
                shapes=options.shapes,
                attributes=options.attributes,
                rounds=options.rounds,
                limit=options.limit,
            )
            try:
                problem = _measure(request, rows.append)
            except PykernelsError as error:
                problem = str(error)
            if problem:
                failed.append(f"{module.name}: {problem}")
            bar.advance()
    if options.json:
        print(json.dumps({"machine": _machine(), "rows": [dataclasses.asdict(row) for row in rows]}, indent=2))
    elif rows:
        _print(rows)
    if options.plot and rows:
        plot.plot(rows, options.plot)
    for message in failed:
        complain(message)
    return 1 if failed else 0


def _measure(request: Request, report: Callable[[Row], None]) -> str:
    """Run the measuring process, pass each row on as it arrives, and return the error that it reports, if any."""
    from pykernels.tools.bench.measure import ONE_THREAD, Row

    last = None
    with ModuleProcess("pykernels.tools.bench.measure", variables=ONE_THREAD) as process:
        process.send(request)
        for message in process.messages():
            if "error" in message:
                return str(message["error"])
            last = Row(**message)
            report(last)
        code = process.wait()
        sys.stderr.write(process.errors())
    if code:
        where = f"after {last.function} on {last.elements:,} elements" if last else "before the first measurement"
        if code == -signal.SIGALRM:
            raise KernelError(f"{where}, one kernel took more than {request.limit} s; choose smaller --sizes")
        raise KernelError(f"{where}, the measuring process {describe_end(code)}")
    return ""


def _print(rows: Sequence[Row]) -> None:
    from rich.table import Table

    from pykernels.tools.bench.measure import KERNEL, NUMPY

    # NumPy comes last, as in each row; the frameworks before it vary with the ops.
    others = sorted(dict.fromkeys(n for row in rows for n in row.seconds if n != KERNEL), key=lambda n: n == NUMPY)
    table = Table(caption="÷: the time of our kernel divided by the other's; below 1, ours is faster")
    table.add_column("kernel", overflow="fold", min_width=8)
    for column in ("elements", "time", "GB/s", *(f"÷ {name}" for name in others)):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        time = row.seconds[KERNEL]
        ratios = (_number(time / row.seconds[name]) if name in row.seconds else "-" for name in others)
        table.add_row(
            f"{row.op} {row.function}", f"{row.elements:,}", _duration(time), _number(row.nbytes / time / 1e9), *ratios
        )
    show(table)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _machine() -> dict[str, str]:
    with open("/proc/cpuinfo") as lines:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {
        "processor": model or platform.processor() or platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pykernels": __version__,
    }
