"""Locks and forks: a fork waits for what other threads build, and what it cannot wait for is refused in the child."""

from __future__ import annotations

from pathlib import Path

import forking
import process
import pytest

NUMPY = """
def call(op):
    return getattr(pykernels.list_ops()[op].api, op)(np.ones(3, np.float32))[0]
"""


@pytest.mark.parametrize("ops", [6, pytest.param(60, marks=pytest.mark.thorough)])
def test_forks_while_another_thread_builds(tmp_path: Path, ops: int) -> None:
    forking.check(tmp_path, NUMPY, ops)


PROGRAM = """
import os, threading
import pykernels
from pykernels.base import locks
from pykernels.base.errors import PykernelsError

lock = locks.Lock("thinking", lambda: others)
others = []
begun, over = threading.Event(), threading.Event()


def hold(what):
    with what:
        begun.set()
        over.wait()


def held(what):
    begun.clear()
    over.clear()
    thread = threading.Thread(target=hold, args=[what])
    thread.start()
    begun.wait()
    return thread


def in_child(function):
    child = os.fork()
    if child == 0:
        try:
            function()
        except PykernelsError as error:
            print(error, flush=True)
        except BaseException as error:
            print(repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def take():
    with lock:
        print("taken", flush=True)
"""


def test_a_fork_waits_for_a_lock(tmp_path: Path) -> None:
    done = process.program(
        PROGRAM
        + """
thread = held(lock)
threading.Timer(0.3, over.set).start()
in_child(take)
assert over.is_set()
take()
""",
        cwd=tmp_path,
    )
    assert done.stdout == "taken\ntaken\n"


def test_the_thread_that_forks_may_hold_it(tmp_path: Path) -> None:
    done = process.program(
        PROGRAM
        + """
with lock, lock:
    in_child(take)
thread = threading.Thread(target=in_child, args=[take])
thread.start()
thread.join()
""",
        cwd=tmp_path,
    )
    assert done.stdout == "taken\ntaken\n"


def test_what_is_held_for_too_long_is_refused_in_the_child(tmp_path: Path) -> None:
    """Also in the child's children, but not in the parent."""
    done = process.program(
        PROGRAM
        + """
locks.LONGEST = 0.1
thread = held(lock)
in_child(lambda: in_child(take))
over.set()
thread.join()
take()
in_child(take)
""",
        cwd=tmp_path,
    )
    refusal, *rest = done.stdout.splitlines()
    assert refusal.startswith("process ")
    assert "was forked while another thread had been thinking for more than 0 s" in refusal
    assert "start workers with the multiprocessing method 'spawn'" in refusal
    assert rest == ["taken", "taken"]


def test_locks_of_other_packages(tmp_path: Path) -> None:
    """Those of numba and LLVM, which threads take that use them without pykernels."""
    done = process.program(
        PROGRAM
        + """
others.append(threading.RLock())
thread = held(others[0])
threading.Timer(0.3, over.set).start()
in_child(lambda: (take(), others[0].acquire()))
assert over.is_set()
locks.LONGEST = 0.1
thread = held(others[0])
in_child(take)
over.set()
thread.join()
take()
""",
        cwd=tmp_path,
    )
    first, refusal, last = done.stdout.splitlines()
    assert (first, last) == ("taken", "taken")
    assert "another thread had been thinking" in refusal


@pytest.mark.thorough
def test_forks_while_numba_compiles_for_others(tmp_path: Path) -> None:
    setup = (
        NUMPY
        + """
import numba


def compile_for_others():
    for n in range(10000):
        exec(f"def f(x):\\n    return x + {n}", scope := {})
        numba.njit(scope["f"])(1.5)


threading.Thread(target=compile_for_others, daemon=True).start()
"""
    )
    forking.check(tmp_path, setup, 20)
