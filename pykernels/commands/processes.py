"""Work of commands that is done in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pykernels import progress
from pykernels.errors import BuildError

__all__ = ["in_processes"]

_T = TypeVar("_T")


def in_processes(calls: Sequence[Callable[[], _T]], jobs: int, bar: progress.Bar) -> Iterator[_T]:
    """What each call returns, in order; `bar` advances whenever one is done.

    Raises
    ------
    BuildError
        A process has died.
    """
    import multiprocessing  # not above, with the others: most commands need one process
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Compiling keeps a process busy, and a fork of this one could inherit threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max(1, jobs), mp_context=context, initializer=progress.be_silent) as pool:
        waiting = [pool.submit(call) for call in calls]
        for each in waiting:
            each.add_done_callback(bar.advance)
        for each in waiting:
            try:
                yield each.result()
            except BrokenProcessPool:
                raise BuildError(
                    "a process that was building has died; run it again with --jobs 1 to see which op"
                ) from None
