"""Run the parts of a command's work side by side."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from pykernels.base import progress
from pykernels.base.errors import BuildError

__all__ = ["in_processes", "processors", "stopping"]

_T = TypeVar("_T")


def processors() -> int:
    """How many processors there are for this process."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def stopping(pool: Executor, stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """A block that has work done by `pool`: an exception, such as an interrupt, drops what has not begun.

    Parameters
    ----------
    pool : Executor
    stop : callable
        Called before, to end what has begun.
    """
    with pool:
        try:
            yield
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def in_processes(calls: Sequence[Callable[[], _T]], jobs: int, bar: progress.Bar) -> Iterator[_T]:
    """What each call returns, in order; `bar` advances whenever one is done. An interrupt ends all of them at once.

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
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=progress.be_silent)

    def terminate() -> None:
        for child in multiprocessing.active_children():
            child.terminate()

    with stopping(pool, terminate):
        # Processes inherit what is blocked: an interrupt from the keyboard, which all get, is for this one alone.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            waiting = [pool.submit(call) for call in calls]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for each in waiting:
            each.add_done_callback(bar.advance)
        for each in waiting:
            try:
                yield each.result()
            except BrokenProcessPool:
                raise BuildError(
                    "a process that was building has died; run it again with --jobs 1 to see which op"
                ) from None
