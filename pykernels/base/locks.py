"""Locks that are safe at a fork: a process forks once no other thread holds one.

A forked child has none of the other threads. What one of them held would stay held there for ever, and what it was
building would stay half built, in LLVM as well. So a fork waits, and nothing new begins until it is over.
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

__all__ = ["LONGEST", "Lock", "last_steps", "once", "preparations"]

T = TypeVar("T")

#: How long a fork waits for other threads, in seconds. What is held for longer cannot be used in the child.
LONGEST = 120.0
_PAUSE = 0.01

# How many locks each thread holds, by its number. A thread changes its own number, under the gate if it becomes or
# ceases to be zero; a fork has the gate from when all the others' are.
_held: dict[int, int] = {}
_gate = threading.Condition()
_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A lock for ``with``, which a thread may take again.

    Parameters
    ----------
    purpose : str
        What a thread that holds it does, for messages: "building kernels".
    others : callable, optional
        Gives locks of other packages that its holder takes, as other threads may, for which forks wait as well.
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
                f"{LONGEST:.0f} s, which nothing here can end. Fork before that begins or after it, or start workers "
                "with the multiprocessing method 'spawn'"
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
    """An attribute that is computed when it is first read, by one thread.

    It is `functools.cached_property`, whose lock, before Python 3.12, is not one of these.
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


#: What to do before each fork: at first, and at last, when no other thread holds a lock. Locks can be taken meanwhile.
preparations: list[Callable[[], None]] = []
last_steps: list[Callable[[], None]] = []

# What the thread that forks has taken of other packages, and the locks for which it could not.
_taken: list[Any] = []
_given_up: list[Lock] = []


def _begin_fork() -> None:
    with contextlib.ExitStack() as stack:  # all of them, also when one has raised
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
    """Take the gate when no other thread holds a lock, and the locks of other packages with it."""
    _gate.acquire()
    end = time.monotonic() + LONGEST
    while True:
        # The gate is open while this waits: what a thread waits for may be another one that needs a lock.
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
        _gate.wait(_PAUSE)  # for who holds them, and now needs a lock of ours


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
