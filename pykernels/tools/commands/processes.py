"""Run the work of a command in parallel."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TypeVar

from pykernels.base import progress
from pykernels.base.errors import BuildError

_T = TypeVar("_T")


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def stopping(pool: Executor, stop: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Run a block that uses `pool`; an exception, such as an interrupt, cancels the work that has not begun.

    `stop` is called first, to stop the work that has begun.
    """
    with pool:
        try:
            yield
        except BaseException:
            stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def in_processes(calls: Sequence[Callable[[], _T]], jobs: int, bar: progress.Bar) -> Iterator[_T]:
    """Run the calls in processes and yield their results in order; an interrupt ends all processes at once.

    This raises `BuildError` if a process dies.
    """
    import multiprocessing  # imported here, like the others: most commands need one process
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    # Compiling keeps a process busy, and a fork of this one could inherit threads.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=progress.be_silent)

    def terminate() -> None:
        for child in multiprocessing.active_children():
            child.terminate()

    with stopping(pool, terminate):
        # The processes inherit blocked signals, so that only this one handles an interrupt from the keyboard.
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
                    "a process died during a build; run it again with --jobs 1 to see for which op"
                ) from None
