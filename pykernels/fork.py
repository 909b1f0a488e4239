"""Forking with work in flight: the frameworks that ops have been entered into finish theirs first.

Installed by itself as soon as a framework is plugged in, for every fork that Python makes (``os.fork``,
``multiprocessing``). Nothing here imports a framework.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

__all__ = ["before_fork", "synchronize", "synchronized"]

_drains: list[Callable[[], None]] = []


def before_fork(drain: Callable[[], None]) -> None:
    """Have `drain` called before every fork of this process; it waits until a framework has nothing pending."""
    if not _drains:
        os.register_at_fork(before=synchronize)
    _drains.append(drain)


def synchronize() -> None:
    """Wait until no op is pending in any framework.

    A failure that nobody has waited for yet becomes a `PykernelsWarning`.
    """
    for drain in _drains:
        drain()


@contextlib.contextmanager
def synchronized() -> Iterator[None]:
    """Wait first, for a block that forks where Python does not notice, as native libraries do.

    Examples
    --------
    >>> with pykernels.fork.synchronized():
    ...     library.start_workers()
    """
    synchronize()
    yield
