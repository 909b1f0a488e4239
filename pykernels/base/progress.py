"""Progress bars of long work, shown to a person at a terminal and nowhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

__all__ = ["Bar", "bar", "be_silent"]

# A terminal has room for one bar; whoever has it shows it.
_shown = threading.Lock()


class Bar:
    """A bar, or what stands for one where none is shown; its methods may be called by any thread."""

    def __init__(self, progress: Any = None, task: Any = None) -> None:
        self._progress = progress
        self._task = task

    def begin(self, what: str) -> None:
        """Say what is done now."""
        if self._progress is not None:
            self._progress.update(self._task, description=what)

    def advance(self, *_: object) -> None:
        """Count a step as done; also what a future calls."""
        if self._progress is not None:
            self._progress.advance(self._task)


@contextlib.contextmanager
def bar(what: str, total: int) -> Iterator[Bar]:
    """Show a bar of `total` steps on the standard error output, with the time that has passed, until the block ends.

    Nothing is shown where that is no terminal, or where a bar is shown already. Colours respect ``NO_COLOR``.
    """
    if not sys.stderr.isatty() or not _shown.acquire(blocking=False):
        yield Bar()
        return
    try:
        from rich.console import Console  # not above: what takes no time needs none
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            yield Bar(progress, progress.add_task(what, total=total))
    finally:
        _shown.release()


def be_silent() -> None:
    """Show no bars in this process: another one shows them."""
    _shown.acquire(blocking=False)
