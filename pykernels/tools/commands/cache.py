"""``python -m pykernels cache``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pykernels.build import cache

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("cache", help="show or clear what is kept on disk", description=_run.__doc__)
    parser.add_argument("--clear", action="store_true", help="remove every entry")
    parser.add_argument("--yes", action="store_true", help="without asking first")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show where the cache is, what is in it, and how large it is; or clear it."""
    from rich.filesize import decimal
    from rich.table import Table

    from pykernels.tools.commands.tables import show

    kinds = cache.usage()
    entries, size = sum(u.entries for u in kinds.values()), sum(u.size for u in kinds.values())
    if options.clear:
        return _clear(f"{_count(entries)} ({decimal(size)})", options.yes)
    # Paths are for people to copy, so they are not wrapped.
    print(cache.directory())
    table = Table("kind")
    table.add_column("entries", justify="right")
    table.add_column("size", justify="right")
    table.show_footer = True
    for column, total in zip(table.columns, ("total", str(entries), decimal(size))):
        column.footer = total
    for kind, used in kinds.items():
        table.add_row(kind, str(used.entries), decimal(used.size))
    show(table)
    return 0


def _clear(what: str, agreed: bool) -> int:
    # Without a terminal there is nobody to ask, and nothing is lost but time.
    if not agreed and sys.stdin.isatty():
        answer = input(f"Remove {what} from {cache.directory()}? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing is removed")
            return 1
    removed, kept = cache.clear()
    print(f"removed {_count(removed)}" + (f"; kept {_count(kept)} that a process is building" if kept else ""))
    return 0


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
