"""Fork with work in flight: the frameworks that ops have been entered into finish theirs first.

Installed by itself as soon as a framework is plugged in, for every fork that Python makes (``os.fork``,
``multiprocessing``). Nothing here imports a framework.
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

__all__ = ["before_fork", "forbidden", "is_forbidden", "synchronize", "synchronized", "threads_in_kernels"]

_drains: list[Callable[[], None]] = []
_stops: list[Callable[[], None]] = []

#: The threads in a `forbidden` block, by number: threads of frameworks keep no thread-local data of Python's.
threads_in_kernels: set[int] = set()


def before_fork(drain: Callable[[], None], stop: Callable[[], None] | None = None) -> None:
    """Prepare a framework for every fork of this process.

    Parameters
    ----------
    drain : callable
        Waits until the framework has nothing pending.
    stop : callable, optional
        Ends the framework's threads; called when every framework has been drained.
    """
    if not _drains:
        locks.preparations.append(synchronize)
        # Thereafter a framework runs nothing more, which other threads might wait for.
        locks.last_steps.append(_stop)
    _drains.append(drain)
    if stop is not None:
        _stops.append(stop)


def synchronize() -> None:
    """Wait until no op is pending in any framework.

    A failure that nobody has waited for yet becomes a `PykernelsWarning`.
    """
    _call_all(_drains)


@contextlib.contextmanager
def synchronized() -> Iterator[None]:
    """Wait first, for a block that forks where Python does not notice, as native libraries do.

    Examples
    --------
    >>> with pykernels.base.fork.synchronized():
    ...     library.start_workers()
    """
    synchronize()
    yield


@contextlib.contextmanager
def forbidden() -> Iterator[None]:
    """Refuse every fork that this thread makes in a block, with a `KernelError`.

    For kernels that run as Python: a fork waits for what is pending, so for the kernel that makes it.
    """
    _install_audit_hook()
    thread = threading.get_ident()
    is_outermost = thread not in threads_in_kernels
    threads_in_kernels.add(thread)
    try:
        yield
    finally:
        if is_outermost:
            threads_in_kernels.discard(thread)


def is_forbidden() -> bool:
    """Whether this thread is in a `forbidden` block: it runs a kernel."""
    return threading.get_ident() in threads_in_kernels


def _stop() -> None:
    _call_all(_stops)


def _call_all(functions: Sequence[Callable[[], None]]) -> None:
    """Call one after the other, also when one has raised; a thread that is left running would block the fork."""
    with contextlib.ExitStack() as stack:
        for function in reversed(functions):
            stack.callback(function)


@functools.lru_cache(maxsize=1)
def _install_audit_hook() -> None:
    # Hooks of os.register_at_fork cannot refuse a fork; this one can, but can never be taken away again.
    sys.addaudithook(_refuse_forks)
    # The other threads are not there in the child, where their numbers are given anew.
    os.register_at_fork(after_in_child=threads_in_kernels.clear)


_FORKS = frozenset({"os.fork", "os.forkpty", "subprocess.Popen"})
# The parameters with which Popen does not use vfork, which runs nothing of a framework's; under their inner names.
_FORKING = {"preexec_fn": "preexec_fn", "uid": "user", "gid": "group", "gids": "extra_groups"}


def _refuse_forks(event: str, _: tuple[Any, ...]) -> None:
    if event not in _FORKS or not is_forbidden():
        return
    if event == "subprocess.Popen":
        given = sys._getframe(1).f_locals  # which the event does not tell
        forking = [name for inner, name in _FORKING.items() if given.get(inner) is not None]
        if not forking:
            return
        event = f"{event} with {forking[0]}"
    raise KernelError(
        f"{event} in a kernel: a fork waits until all kernels have ended. Fork where the op is called; a kernel may "
        f"start programs with subprocess, without {', '.join(_FORKING.values())}"
    )
