"""Provide locks that are safe across forks: a fork waits until no other thread holds one.

A forked child has none of the other threads. A lock that one of them holds would stay held in the child for ever, and
what it is building, even inside LLVM, would stay half built. So a fork waits, and no thread takes a lock until the fork
is over.
"""

from __future__ import annotations

import contextlib
import logging  # noqa: F401 (its hook must run after ours; hooks before a fork run last to first)
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, overload

from pykernels.base.errors import PykernelsError

T = TypeVar("T")

#: How long a fork waits for other threads, in seconds. Locks that are held for longer cannot be used in the child.
LONGEST = 120.0
_PAUSE = 0.01

# The number of locks that each thread holds, by thread identifier. A thread changes only its own count, and takes the
# gate to change it from or to zero. A fork keeps the gate once all the other counts are zero.
_held: dict[int, int] = {}
_gate = threading.Condition()
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A reentrant lock for ``with``.

    `purpose` is what its holder does, for messages: "building kernels". `others` returns locks of other packages that a
    holder takes; forks wait for these as well.
    """

    def __init__(self, purpose: str, others: Callable[[], Iterable[Any]] = tuple) -> None:
        self._purpose = purpose
        self._lock = threading.RLock()
        self._owner: int | None = None
        self._depth = 0
        self._others = others
        self._lost = False
        _locks.add(self)

    def __enter__(self) -> None:
        if self._lost:
            raise PykernelsError(
                f"process {os.getpid()} was forked while another thread had been {self._purpose} for more than "
                f"{LONGEST:.0f} s, and this process cannot continue that. Fork before that begins or after it ends, or "
                "start workers with the multiprocessing method 'spawn'"
            )
        thread = threading.get_ident()
        if thread in _held:
            _held[thread] += 1
        else:
            with _gate:
                _held[thread] = 1
        try:
            self._lock.acquire()
        except BaseException:
            _let_go(thread)
            raise
        self._owner = thread
        self._depth += 1

    def __exit__(self, *exc: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
        self._lock.release()
        _let_go(threading.get_ident())


class once(Generic[T]):  # noqa: N801 (as `property`)
    """An attribute that one thread computes on first access.

    Like `functools.cached_property`, whose lock, before Python 3.12, is not safe across forks.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__
        self._lock = Lock(f"computing {function.__qualname__}")

    @overload
    def __get__(self, instance: None, owner: type) -> once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> once[T] | T:
        if instance is None:
            return self
        known, name = vars(instance), self._function.__name__
        with self._lock:
            if name not in known:
                known[name] = self._function(instance)
        value: T = known[name]
        return value


def _let_go(thread: int) -> None:
    if _held[thread] > 1:
        _held[thread] -= 1
        return
    with _gate:
        del _held[thread]
        _gate.notify_all()


def _other_holders() -> set[int]:
    return set(_held) - {threading.get_ident()}


#: Callbacks before each fork: the first ones, which may take locks, and the last ones, when no other thread holds a
#: lock.
preparations: list[Callable[[], None]] = []
last_steps: list[Callable[[], None]] = []

# The other packages' locks that the forking thread has taken, and our locks for which it could not take them.
_taken: list[Any] = []
_given_up: list[Lock] = []


def _begin_fork() -> None:
    with contextlib.ExitStack() as stack:  # runs all of them, even if one raises
        stack.callback(_close_gate)
        for step in last_steps:
            stack.callback(step)
        stack.callback(_wait)
        for step in preparations:
            stack.callback(step)


def _wait() -> None:
    _close_gate()
    _let_others_go()
    _gate.release()


def _close_gate() -> None:
    """Take the gate once no other thread holds a lock, and the other packages' locks with it."""
    _gate.acquire()
    end = time.monotonic() + LONGEST
    while True:
        # The gate is open during this wait, since a holder may wait for a thread that needs a lock.
        _gate.wait_for(lambda: not _other_holders(), max(0.0, end - time.monotonic()))
        for lock in list(_locks):
            for other in lock._others():
                if other.acquire(timeout=_PAUSE):
                    _taken.append(other)
                else:
                    _given_up.append(lock)
        if not _given_up or time.monotonic() >= end:
            return
        _let_others_go()
        _gate.wait(_PAUSE)  # their holder may need one of our locks to go on


def _let_others_go() -> None:
    while _taken:
        _taken.pop().release()
    _given_up.clear()


def _end_fork() -> None:
    _let_others_go()
    _gate.release()


def _end_fork_in_child() -> None:
    gone = _other_holders()
    for lock in list(_locks):
        lock._lost = lock._lost or lock._owner in gone or lock in _given_up
    for thread in gone:
        del _held[thread]
    _end_fork()


os.register_at_fork(before=_begin_fork, after_in_parent=_end_fork, after_in_child=_end_fork_in_child)
