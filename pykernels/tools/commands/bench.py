"""``python -m pykernels bench``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base import progress
from pykernels.base.errors import KernelError, PykernelsError
from pykernels.base.version import __version__
from pykernels.tools.commands import arguments
from pykernels.tools.commands.messages import complain

if TYPE_CHECKING:
    from pykernels.tools.bench.measure import Request, Row

__all__ = ["add"]


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
        help="about how many elements the largest array has (4 1e3 1e6 1e7)",
    )
    parser.add_argument("--dtype", type=arguments.dtype, default=np.dtype(np.float32), help="of the inputs (float32)")
    arguments.add_inputs(parser)
    parser.add_argument(
        "--rounds",
        type=arguments.whole_number,
        default=9,
        metavar="N",
        help="of how many rounds the median counts (9)",
    )
    parser.add_argument(
        "--limit",
        type=arguments.whole_number,
        default=120,
        metavar="S",
        help="the seconds that a kernel may take at one size (120)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a picture as well (.png, .svg, .pdf)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Measure kernels on one thread, beside a memory copy, plain NumPy, and the frameworks' own ops."""
    from pykernels.tools.bench import plot
    from pykernels.tools.bench.measure import Request

    modules = arguments.find_modules(options.ops)
    if options.plot:
        plot.check(options.plot)
    # Shapes that are given are one size.
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
                wrong = _measure(request, rows.append)
            except PykernelsError as error:
                wrong = str(error)
            if wrong:
                failed.append(f"{module.name}: {wrong}")
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


def _measure(request: Request, found: Callable[[Row], None]) -> str:
    """Run the process that measures, and hand on each row as it comes; returns what it says is wrong, or nothing."""
    from pykernels.tools.bench.measure import ONE_THREAD, Row

    last = None
    command = [sys.executable, "-m", "pykernels.tools.bench.measure", json.dumps(dataclasses.asdict(request))]
    with (
        tempfile.TemporaryFile("w+") as said,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said, env={**os.environ, **ONE_THREAD}, text=True
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            values = json.loads(line)
            if "error" in values:
                return str(values["error"])
            last = Row(**values)
            found(last)
        code = process.wait()
        said.seek(0)
        sys.stderr.write(said.read())
    if code:
        where = f"after {last.function} of {last.elements:,} elements" if last else "before anything was measured"
        if code == -signal.SIGALRM:
            raise KernelError(f"{where}, one kernel took more than {request.limit} s; choose smaller --sizes")
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        raise KernelError(f"{where}, the process that measures was ended {how}")
    return ""


def _print(rows: Sequence[Row]) -> None:
    from rich.table import Table

    from pykernels.tools.bench.measure import KERNEL, NUMPY
    from pykernels.tools.commands.tables import show

    # NumPy last, as in each row: frameworks come in between as they have ops of these names.
    others = sorted(dict.fromkeys(n for row in rows for n in row.seconds if n != KERNEL), key=lambda n: n == NUMPY)
    table = Table(caption="÷: the time of our kernel divided by that of the other; below 1 is faster")
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
