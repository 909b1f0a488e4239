"""Work of commands that is done in several processes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pykernels import progress
from pykernels.errors import BuildError

__all__ = ["in_processes"]

_T = TypeVar("_T")


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
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=progress.be_silent) as pool:
        try:
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
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
