"""Programs in processes of their own, for what must not happen in the one of the tests."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

HELPERS = Path(__file__).resolve().parent
CHECKOUT = HELPERS.parents[1]
#: The seconds of processor time that a program may take, unless a test says otherwise. Seconds on the wall tell how
#: busy a machine is.
LIMIT = 200
# A program that takes less than a second of the processor's time in so many seconds on the wall waits for ever.
_STILL = 150


def python(
    *arguments: str | Path, cwd: Path, path: Path = CHECKOUT, limit: float = LIMIT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in `cwd`, with pykernels found in `path`; the exit code is the caller's to check."""
    env = {**os.environ, "PYTHONPATH": str(path), "COLUMNS": "120", **environment}
    return run([sys.executable, *arguments], cwd=cwd, env=env, limit=limit)


def program(
    text: str, *, cwd: Path, path: Path = CHECKOUT, limit: float = LIMIT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that must succeed, with warnings as they are for users."""
    done = python("-c", textwrap.dedent(text), cwd=cwd, path=path, limit=limit, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def run(command: Sequence[str | Path], *, limit: float = LIMIT, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `subprocess.run` does, within `limit` seconds of processor time."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    with subprocess.Popen(list(map(str, command)), text=True, **options) as process:
        out, err = finish(process, limit)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def finish(process: subprocess.Popen[str], limit: float = LIMIT) -> tuple[str, str]:
    """Wait for a program, and return what it has written.

    Raises
    ------
    AssertionError
        It takes more than `limit` seconds of processor time, together with the programs that it has started, or stands
        still; they all are ended.
    """
    meter = _Meter(process.pid)
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=1)
        problem = meter.problem(limit)
        if problem:
            meter.end()
            out, err = process.communicate()
            raise AssertionError(f"{process.args} {problem}:\n{out}{err}")


class _Meter:
    """The processor time of a program and all that it has started."""

    def __init__(self, pid: int) -> None:
        self._family = {pid: psutil.Process(pid)}
        self._used, self._since = 0.0, time.monotonic()

    def problem(self, limit: float) -> str:
        """What is wrong with it, in words; nothing if it still may run."""
        used = sum(map(_seconds, self._members()))
        if used > limit:
            return f"takes more than {limit:g} s of processor time"
        if abs(used - self._used) >= 1:
            self._used, self._since = used, time.monotonic()
        elif time.monotonic() - self._since > _STILL:
            return f"stands still: less than a second of processor time in {_STILL} s"
        return ""

    def end(self) -> None:
        """End the program and all that it has started."""
        for member in self._members():
            with contextlib.suppress(psutil.NoSuchProcess):
                member.send_signal(signal.SIGKILL)

    def _members(self) -> list[psutil.Process]:
        # Those whose parent has ended are still ours.
        for member in list(self._family.values()):
            with contextlib.suppress(psutil.NoSuchProcess):
                self._family.update({child.pid: child for child in member.children(recursive=True)})
        return list(self._family.values())


def _seconds(process: psutil.Process) -> float:
    """The processor time of a process and of its children that have ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return sum(process.cpu_times()[:4])
    return 0.0
