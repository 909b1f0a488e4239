"""``python -m pykernels warmup``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from pykernels.commands import arguments
from pykernels.commands.messages import complain
from pykernels.errors import BuildError
from pykernels.warmup import Outcome, registrars, warm_op, warm_registrar

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
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="how many processes build at once"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Fill the cache: definitions, kernels, and the registrars of installed frameworks."""
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
    from rich.text import Text

    outcomes = []
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        for outcome, total in _warm(options):
            if not progress.tasks:
                progress.add_task("building", total=total)
            progress.advance(progress.task_ids[0])
            outcomes.append(outcome)
    table = Table("", show_footer=False)
    for column in ("built", "from cache", "as Python", "failed"):
        table.add_column(column, justify="right")
    for each in outcomes:
        counts = (each.built, each.cached, len(each.python), len(each.failed))
        table.add_row(each.name, *(Text(str(n), style) for n, style in zip(counts, ("", "", "yellow", "red"))))
    Console().print(table)
    for each in outcomes:
        for message in (*each.python, *each.failed):
            complain(f"{each.name}: {message}")
    return 1 if any(each.failed for each in outcomes) else 0


def _warm(options: argparse.Namespace) -> Iterator[tuple[Outcome, int]]:
    """Each outcome in the order of the ops, and how many there are."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    folders = [module.path for module in arguments.find_modules(options.ops)]
    dtypes = [str(dtype) for dtype in options.dtypes or ["float32"]]
    # Compiling keeps a process busy, and a fork of this one could inherit threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, options.jobs), mp_context=context) as pool:
        # What takes longest goes first.
        waiting = [pool.submit(warm_registrar, name) for name in registrars()]
        waiting += [pool.submit(warm_op, f, dtypes, options.shapes, options.attributes) for f in folders]
        for each in waiting:
            try:
                yield each.result(), len(waiting)
            except BrokenProcessPool:
                raise BuildError(
                    "a process that was building has died; run it again with --jobs 1 to see which op"
                ) from None
