"""Implement ``python -m pykernels cache``."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pykernels.build import cache
from pykernels.tools.commands.output import show


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser("cache", help="show or clear the cache", description=_run.__doc__)
    parser.add_argument("--clear", action="store_true", help="remove every entry")
    parser.add_argument("--yes", action="store_true", help="do not ask first")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    """Show where the cache is, what it contains and how large it is, or clear it."""
    from rich.filesize import decimal
    from rich.table import Table

    kinds = cache.usage()
    entries, size = sum(u.entries for u in kinds.values()), sum(u.size for u in kinds.values())
    if options.clear:
        return _clear(f"{_count(entries)} ({decimal(size)})", options.yes)
    # Users copy the path, so it is not wrapped.
    print(cache.directory())
    table = Table(show_footer=True)
    table.add_column("kind", "total")
    table.add_column("entries", str(entries), justify="right")
    table.add_column("size", decimal(size), justify="right")
    for kind, used in kinds.items():
        table.add_row(kind, str(used.entries), decimal(used.size))
    show(table)
    return 0


def _clear(entries: str, is_confirmed: bool) -> int:
    # Without a terminal nobody can answer, and clearing the cache costs only time.
    if not is_confirmed and sys.stdin.isatty():
        answer = input(f"Remove {entries} from {cache.directory()}? [y/N] ")
        if answer.strip().lower() not in ("y", "yes"):
            print("nothing was removed")
            return 1
    removed, kept = cache.clear()
    print(f"removed {_count(removed)}" + (f"; kept {_count(kept)} that a process is building" if kept else ""))
    return 0


def _count(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries} entries"
