"""Checks run in processes of their own: what crashes or hangs is a finding, and the other checks go on."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pykernels.base.errors import CallError, LoadError
from pykernels.tools.check import CHECKS, script
from pykernels.tools.check.arguments import Arguments
from pykernels.tools.check.findings import FAILED, SKIPPED, Result

if TYPE_CHECKING:
    from pykernels.tools.check.worker import Request

__all__ = ["LIMIT", "choose", "run_checks"]

#: The seconds that one check of one op may take.
LIMIT = 300
# How often who waits asks whether to go on, in seconds.
_NAP = 0.2


def choose(names: Sequence[str] | None) -> tuple[str, ...]:
    """The checks of these names in the order of the report, or all.

    Raises
    ------
    CallError
        There is no such check.
    """
    for name in names or ():
        if name not in CHECKS:
            raise CallError(f"there is no check {name!r}; there are {', '.join(CHECKS)}")
    return tuple(name for name in CHECKS if not names or name in names)


def run_checks(
    folder: Path,
    checks: Sequence[str],
    calls: Sequence[Mapping[str, Any]] | None = None,
    *,
    arguments: Arguments | None = None,
    limit: float = LIMIT,
    begun: Callable[[str], None] = lambda check: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Result]:
    """The results of these checks of an op folder, as they come.

    Parameters
    ----------
    checks : sequence of str
        Their names, in the order in which they are run.
    calls : sequence of mapping, optional
        The only calls to try: arrays by the names of inputs, and values of attributes.
    arguments : Arguments, optional
        What the calls that are made up otherwise have.
    limit : float
        The seconds that each may take.
    begun : callable
        Gets the name of each check that begins.
    is_stopped : callable
        Whether to give up, asked several times a second.

    Raises
    ------
    CancelledError
        It was stopped.
    LoadError
        Calls have to be made up, and hypothesis is not installed.
    """
    from pykernels.tools.check.worker import Request

    if calls is None:
        _need_hypothesis()
    remaining, given = list(checks), None if calls is None else [dict(each) for each in calls]
    while remaining:
        running, why = remaining[0], "ended before the check began"
        request = Request(str(folder), tuple(remaining), given, arguments or Arguments())
        with tempfile.TemporaryFile("w+") as said, _Worker(request, said) as worker:
            for told in worker.lines(limit, is_stopped):
                if "begins" in told:
                    running = told["begins"]
                    begun(running)
                    continue
                result = Result(**told)
                remaining.remove(result.check)
                yield result
                if (result.check, result.outcome) == ("definition", FAILED):
                    yield from (_not_run(result, name) for name in remaining)
                    return
            if remaining:
                said.seek(0)
                why = f"{worker.how_it_ended(limit)}{_last_lines(said.read())}"
        if remaining:
            remaining.remove(running)
            yield Result(
                folder.name, running, FAILED, f"the process that checks {why}", script=script.program(folder, running)
            )


class _Worker:
    """The process, and what it tells."""

    def __init__(self, request: Request, said: IO[str]) -> None:
        from pykernels.tools.bench.measure import ONE_THREAD

        self._directory = tempfile.TemporaryDirectory(prefix="pykernels-check-")
        path = Path(self._directory.name, "request")
        path.write_bytes(pickle.dumps(request))
        self._ran_out = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pykernels.tools.check.worker", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            # What libraries compute on several threads cannot be timed beside other processes.
            # Nothing is left in the working directory.
            env={**os.environ, **ONE_THREAD, "HYPOTHESIS_STORAGE_DIRECTORY": self._directory.name},
            start_new_session=True,
        )

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        # With all the processes that it has started, if it is still there.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._directory.cleanup()

    def lines(self, limit: float, is_stopped: Callable[[], bool]) -> Iterator[dict[str, Any]]:
        """What it tells, line by line, until it ends or has said nothing for too long."""
        assert self._process.stdout is not None
        source, pending = self._process.stdout.fileno(), b""
        end = time.monotonic() + limit
        while True:
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([source], [], [], min(left, _NAP))
            if is_stopped():
                raise CancelledError
            if not ready and left > _NAP:
                continue
            if not ready:
                self._ran_out = True
                return
            data = os.read(source, 1 << 16)
            if not data:
                return
            *complete, pending = (pending + data).split(b"\n")
            for line in complete:
                end = time.monotonic() + limit
                yield json.loads(line)

    def how_it_ended(self, limit: float) -> str:
        """For messages, of a process that has not told all."""
        if self._ran_out:
            return f"took more than {limit:g} s"
        code = self._process.wait()
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"


def _need_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ImportError:
        raise LoadError(
            "calls to check are drawn by hypothesis.strategies, and hypothesis is not installed: python -m pip install "
            "'pykernels[check]'"
        ) from None


def _not_run(first: Result, name: str) -> Result:
    return Result(first.op, name, SKIPPED, f"{first.check} failed")


def _last_lines(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()][-3:]
    return f": {' '.join(lines)}" if lines else ""
