"""Print the results and errors of commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from pykernels.base.errors import PykernelsError
from pykernels.load.module import OpModule

if TYPE_CHECKING:
    from rich.table import Table


def complain(message: str) -> None:
    """Print an error message on standard error, in colour at a terminal unless ``NO_COLOR`` is set."""
    if not sys.stderr.isatty():
        print(f"pykernels: {message}", file=sys.stderr)
        return
    from rich.console import Console  # imported here: it takes as long to import as everything else
    from rich.text import Text

    Console(stderr=True, soft_wrap=True).print(Text.assemble(("pykernels:", "bold red"), " ", message))


def for_each(modules: Iterable[OpModule], act: Callable[[OpModule], None]) -> int:
    """Call `act` with each op, complain about those for which it raises, and return the exit code."""
    code = 0
    for module in modules:
        try:
            act(module)
        except PykernelsError as error:
            complain(f"{module.name}: {error}")
            code = 1
    return code


def show(table: Table) -> None:
    """Print a table as wide as the terminal or ``COLUMNS``; in a pipe, at its full width, for other programs."""
    from rich.console import Console  # imported here: it takes as long to import as everything else
    from rich.measure import Measurement

    console = Console()
    least, most = Measurement.get(console, console.options.update(max_width=10_000), table)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = most
    console.width = max(console.width, least)
    console.print(table)
