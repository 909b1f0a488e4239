"""``python -m pykernels warmup``."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

from pykernels.base import progress
from pykernels.frameworks.registrar_libraries import installed_registrars
from pykernels.tools.commands import arguments
from pykernels.tools.commands.messages import complain
from pykernels.tools.commands.processes import in_processes
from pykernels.tools.warmup import Outcome, warm_op, warm_registrar

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("warmup", help="build ahead what ops need", description=_run.__doc__)
    arguments.add_ops(parser)
    parser.add_argument(
        "--dtype",
        dest="dtypes",
        type=arguments.dtype,
        nargs="+",
        action="extend",
        metavar="DTYPE",
        help="the dtypes of inputs (float32)",
    )
    arguments.add_inputs(parser)
    arguments.add_jobs(parser, "processes build")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Fill the cache: definitions, kernels, and the registrars of installed frameworks."""
    from rich.table import Table
    from rich.text import Text

    from pykernels.tools.commands.tables import show

    calls = _calls(options)
    with progress.bar("building", len(calls)) as bar:
        outcomes = list(in_processes(calls, options.jobs, bar))
    table = Table()
    table.add_column("", overflow="fold", min_width=8)
    for column in ("built", "from cache", "as Python", "failed"):
        table.add_column(column, justify="right")
    for each in outcomes:
        counts = (each.built, each.cached, len(each.python), len(each.failed))
        table.add_row(each.name, *(Text(str(n), style) for n, style in zip(counts, ("", "", "yellow", "red"))))
    show(table)
    for each in outcomes:
        for message in dict.fromkeys((*each.python, *each.failed)):
            complain(f"{each.name}: {message}")
    return 1 if any(each.failed for each in outcomes) else 0


def _calls(options: argparse.Namespace) -> list[Callable[[], Outcome]]:
    """What is to be built; what takes longest first."""
    dtypes = [str(dtype) for dtype in options.dtypes or ["float32"]]
    ops = [
        functools.partial(warm_op, module.path, dtypes, options.shapes, options.attributes)
        for module in arguments.find_modules(options.ops)
    ]
    return [*(functools.partial(warm_registrar, name) for name in installed_registrars()), *ops]
