"""Let frameworks finish their pending work before a fork.

This takes effect when the first framework is plugged in, for every fork that Python makes (``os.fork``,
``multiprocessing``). This module imports no framework.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pykernels.base import locks
from pykernels.base.errors import KernelError

_drains: list[Callable[[], None]] = []
_stops: list[Callable[[], None]] = []

#: The identifier of its thread for each `forbidden` block: frameworks' threads do not keep Python's thread-local data.
threads_in_kernels: list[int] = []


def before_fork(drain: Callable[[], None], stop: Callable[[], None] | None = None) -> None:
    """Prepare a framework for every fork of this process.

    Parameters
    ----------
    drain : callable
        Waits until the framework has nothing pending.
    stop : callable, optional
        Leaves the framework without work or threads that a fork would cut off; called once every framework has been
        drained and no other thread builds.
    """
    if not _drains:
        locks.preparations.append(synchronize)
        # Last, because a stopped framework runs nothing more that other threads may wait for.
        locks.last_steps.append(_stop)
    _drains.append(drain)
    if stop is not None:
        _stops.append(stop)


def synchronize() -> None:
    """Wait until no op is pending in any framework.

    A failure that has not been reported yet becomes a `PykernelsWarning`.
    """
    _call_all(_drains)


@contextlib.contextmanager
def synchronized() -> Iterator[None]:
    """Wait until no op is pending, then run a block that forks unnoticed by Python, as native libraries do.

    Examples
    --------
    >>> with pykernels.base.fork.synchronized():
    ...     library.start_workers()
    """
    synchronize()
    yield


class _Forbidden:
    """The blocks of `forbidden`; a generator in place of a class takes three times as long."""

    def __enter__(self) -> None:
        threads_in_kernels.append(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        threads_in_kernels.remove(threading.get_ident())


_FORBIDDEN = _Forbidden()


def forbidden() -> contextlib.AbstractContextManager[None]:
    """Refuse every fork that this thread makes in a block, with a `KernelError`.

    For kernels that run as Python: a fork waits for pending kernels, so a kernel that forks would wait for itself.
    """
    _install_audit_hook()
    return _FORBIDDEN


def is_forbidden() -> bool:
    """Return whether this thread is in a `forbidden` block, and therefore runs a kernel."""
    return threading.get_ident() in threads_in_kernels


def _stop() -> None:
    _call_all(_stops)


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    """Call the functions in turn, even if one raises: a thread that is left running would block the fork."""
    with contextlib.ExitStack() as stack:
        for function in reversed(functions):
            stack.callback(function)


@functools.lru_cache(maxsize=1)
def _install_audit_hook() -> None:
    # Hooks of os.register_at_fork cannot refuse a fork. An audit hook can, but can never be removed.
    sys.addaudithook(_refuse_forks)
    # The other threads do not exist in the child, where their identifiers are used again.
    os.register_at_fork(after_in_child=threads_in_kernels.clear)


_FORKS = frozenset({"os.fork", "os.forkpty", "subprocess.Popen"})
# The parameters of Popen, by their inner names, with which it forks. Otherwise it uses vfork, which is harmless here.
_FORKING = {"preexec_fn": "preexec_fn", "uid": "user", "gid": "group", "gids": "extra_groups"}


def _refuse_forks(event: str, _: tuple[Any, ...]) -> None:
    if event not in _FORKS or not is_forbidden():
        return
    if event == "subprocess.Popen":
        given = sys._getframe(1).f_locals  # the event does not include them
        forking = [name for inner, name in _FORKING.items() if given.get(inner) is not None]
        if not forking:
            return
        event = f"{event} with {forking[0]}"
    raise KernelError(
        f"{event} in a kernel: a fork waits until all kernels have ended. Fork in the code that calls the op; a kernel "
        f"may start programs with subprocess, but without {', '.join(_FORKING.values())}"
    )
