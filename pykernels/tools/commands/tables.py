"""Tables on the standard output, of which nothing is lost."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["show"]


def show(table: Table) -> None:
    """Print a table: as wide as the terminal, or ``COLUMNS``; in a pipe, for other programs, as wide as it is."""
    from rich.console import Console  # not above: it takes as long to import as the rest
    from rich.measure import Measurement

    console = Console()
    least, most = Measurement.get(console, console.options.update(max_width=10_000), table)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = most
    console.width = max(console.width, least)
    console.print(table)
