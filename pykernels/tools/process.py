"""Run a module in a process of its own, which receives a value and sends messages as lines of JSON."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import Any

# How often to ask whether to stop, in seconds.
_NAP = 0.2


class ModuleProcess:
    """A process that runs a module with arguments and environment variables; the end of its ``with`` block kills it.

    If it `leads_group`, the processes that it starts are killed with it.
    """

    def __init__(
        self, module: str, *arguments: str, variables: Mapping[str, str] | None = None, leads_group: bool = False
    ) -> None:
        # A pipe would fill up before anybody reads it.
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (it lives as long as the process)
        self._leads_group = leads_group
        self._limit = math.inf
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, **(variables or {})},
            start_new_session=leads_group,
        )

    def __enter__(self) -> ModuleProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.close()

    def kill(self) -> None:
        """Kill the process."""
        if self._leads_group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def send(self, value: object) -> None:
        """Send the value that the module receives; this does not wait until it reads the value."""
        pipe, data = self._process.stdin, pickle.dumps(value)
        assert pipe is not None

        def write() -> None:
            with contextlib.suppress(BrokenPipeError), pipe:  # the process may have ended
                pipe.write(data)

        threading.Thread(target=write, daemon=True).start()

    def messages(
        self, limit: float = math.inf, is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[dict[str, Any]]:
        """Yield the messages of the process until it ends or sends none for `limit` seconds.

        This calls `is_stopped` several times a second, and raises `CancelledError` if that returns true.
        """
        assert self._process.stdout is not None
        source, pending = self._process.stdout.fileno(), b""
        end = time.monotonic() + limit
        while True:
            left = max(0.0, end - time.monotonic())
            ready, _, _ = select.select([source], [], [], min(left, _NAP))
            if is_stopped():
                raise CancelledError
            if ready:
                data = os.read(source, 1 << 16)
                if not data:
                    return
                *complete, pending = (pending + data).split(b"\n")
                for line in complete:
                    yield json.loads(line)
                    end = time.monotonic() + limit
            elif left <= _NAP:
                self._limit = limit
                return

    def wait(self) -> int:
        """Wait until the process ends; return its exit code, or the negative number of the signal that ended it."""
        return self._process.wait()

    def errors(self) -> str:
        """Return what the process has written on standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def how_it_ended(self, count: int = 1) -> str:
        """Describe how the process ended, or that it took too long, with the last `count` lines that it wrote."""
        how = f"took more than {self._limit:g} s" if self._limit < math.inf else describe_end(self.wait())
        lines = [line.strip() for line in self.errors().splitlines() if line.strip()][-count:]
        return f"{how}: {' '.join(lines)}" if lines else how


def describe_end(code: int) -> str:
    """Describe how a process with this exit code ended."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def receive() -> Any:
    """Wait for the value that `ModuleProcess.send` sends to this process, and return it."""
    return pickle.load(sys.stdin.buffer)


@contextlib.contextmanager
def sending() -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yield a function that sends a message to `ModuleProcess.messages`; all other output goes to standard error."""
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        os.dup2(2, 1)
        yield lambda message: print(json.dumps(message), file=lines)
