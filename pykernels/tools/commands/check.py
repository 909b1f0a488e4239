"""Implement ``python -m pykernels check OP``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import progress
from pykernels.base.settings import require_compiled
from pykernels.tools.commands import arguments
from pykernels.tools.commands.processes import stopping

if TYPE_CHECKING:
    from pykernels.tools.check.findings import Result

_COLOURS = {"passed": "green", "failed": "red", "skipped": "yellow"}


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("check", help="check ops for errors", description=_run.__doc__)
    arguments.add_ops(parser)
    parser.add_argument("--only", nargs="+", metavar="CHECK", help="the checks to run (default: all)")
    parser.add_argument(
        "--limit",
        type=arguments.whole_number,
        default=300,
        metavar="S",
        help="how long a check may take, in seconds (300)",
    )
    arguments.add_inputs(parser)
    arguments.add_jobs(parser, "ops to check at once")
    parser.add_argument(
        "--require-compiled", action="store_true", help="fail where a kernel, or a call in one, runs as Python"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Check ops: their kernels, gradients, memory accesses, threads, speed, and results in each framework."""
    from pykernels.tools.check import runner
    from pykernels.tools.check.findings import FAILED
    from pykernels.tools.check.forms import Arguments

    if options.require_compiled:
        require_compiled()  # of the processes that check, too
    folders = arguments.find_folders(options.ops)
    checks = runner.choose(options.only)
    stopped = threading.Event()
    pool = ThreadPoolExecutor(options.jobs)
    with progress.bar("checking", len(folders) * len(checks)) as bar, stopping(pool, stopped.set):

        def check(folder: Path) -> list[Result]:
            found = []
            for result in runner.run_checks(
                folder,
                checks,
                arguments=Arguments(options.shapes, options.attributes),
                limit=options.limit,
                begun=lambda name: bar.begin(f"{folder.name}: {name}"),
                is_stopped=stopped.is_set,
            ):
                found.append(result)
                bar.advance()
            return found

        waiting = [pool.submit(check, folder) for folder in folders]
        results = [each.result() for each in waiting]
    if options.json:
        print(json.dumps([dataclasses.asdict(each) for found in results for each in found], indent=2))
    else:
        for found in results:
            _print(found)
    return 1 if any(each.outcome == FAILED for found in results for each in found) else 0


def _print(found: Sequence[Result]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from pykernels.tools.check import findings

    table = Table("check", "result", "s", "what was tried, or what is wrong", title=found[0].op, title_justify="left")
    table.columns[2].justify = "right"
    for each in found:
        seconds = f"{each.seconds:.1f}" if each.seconds else ""
        table.add_row(each.check, Text(each.outcome, _COLOURS[each.outcome]), seconds, Text(each.message))
    console = Console()
    console.print(table)
    for each in found:
        if each.outcome == findings.FAILED:
            console.print(Text(f"\n{findings.describe(each)}"), soft_wrap=True)
