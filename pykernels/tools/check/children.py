"""Forked processes that may crash or hang, for what must not happen in the one that checks."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Ended", "run_child"]


@dataclass(frozen=True)
class Ended:
    """How a process has ended.

    Attributes
    ----------
    said : list of str
        The lines that it has told.
    code : int
        Its exit code; negative for the signal that ended it.
    is_late : bool
        Whether it took too long, and was ended therefore.
    """

    said: list[str]
    code: int
    is_late: bool

    @property
    def how(self) -> str:
        """In words."""
        if self.is_late:
            return "is not done in time"
        return f"is ended by {signal.Signals(-self.code).name}" if self.code < 0 else f"ends with exit code {self.code}"


def run_child(work: Callable[[Callable[[str], None]], None], limit: float = 30) -> Ended:
    """Run a function in a forked process. It gets a function that tells a line of text.

    The exit code is 0 if it returns, and 1 if it raises, and the last line told is then the message.
    """
    source, sink = os.pipe()
    # What is written already must not be written twice.
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(source)

            def tell(text: str) -> None:
                os.write(sink, text.replace("\n", " ").encode() + b"\n")

            try:
                work(tell)
                code = 0
            except BaseException as error:
                tell(str(error) or type(error).__name__)
        finally:
            os._exit(code)
    os.close(sink)
    told, is_late = _read(source, limit)
    if is_late:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return Ended(told.decode().splitlines(), os.waitstatus_to_exitcode(status), is_late)


def _read(source: int, limit: float) -> tuple[bytes, bool]:
    """All that comes until the other end closes, and whether that took too long."""
    told, end = b"", time.monotonic() + limit
    with open(source, "rb", buffering=0) as stream:
        while True:
            ready, _, _ = select.select([stream], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return told, True
            data = stream.read(1 << 16)
            if not data:
                return told, False
            told += data
