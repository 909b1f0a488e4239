"""Show the progress of long work, only at a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

# Held while a bar is shown: a terminal has room for one.
_shown = threading.Lock()


class Bar:
    """A progress bar, or a stand-in where none is shown; any thread may call its methods."""

    def __init__(self, progress: Any = None, task: Any = None) -> None:
        self._progress = progress
        self._task = task

    def begin(self, what: str) -> None:
        """Show what the work does now."""
        if self._progress is not None:
            self._progress.update(self._task, description=what)

    def advance(self, *_: object) -> None:
        """Count a step as done; usable as a future's callback."""
        if self._progress is not None:
            self._progress.advance(self._task)


@contextlib.contextmanager
def bar(what: str, total: int) -> Iterator[Bar]:
    """Show a bar of `total` steps and the elapsed time on standard error until the block ends.

    Nothing is shown if standard error is not a terminal, or if another bar is shown already. ``NO_COLOR`` is respected.
    """
    if not sys.stderr.isatty() or not _shown.acquire(blocking=False):
        yield Bar()
        return
    try:
        from rich.console import Console  # imported here: short work needs no bar
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bar(progress, progress.add_task(what, total=total))
    finally:
        _shown.release()


@contextlib.contextmanager
def line(what: str, after: float = 2.0) -> Iterator[None]:
    """Print a line on standard error, a terminal, if the block takes longer than `after` seconds."""
    if not sys.stderr.isatty() or _shown.locked():
        yield
        return
    timer = threading.Timer(after, print, [f"pykernels: {what} ..."], {"file": sys.stderr, "flush": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def be_silent() -> None:
    """Show no bars in this process, because another process shows them."""
    _shown.acquire(blocking=False)
