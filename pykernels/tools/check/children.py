"""Run code that may crash or hang in a forked process."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection

from pykernels.tools.process import describe_end

_Work = Callable[[Callable[[str], None]], None]


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it reported."""

    #: The last line that it reported; empty if it has reported none.
    last: str
    #: Its exit code, or the negative number of the signal that ended it.
    code: int
    #: How it ended, in words.
    how: str


def run_child(work: _Work, limit: float = 30) -> Ended:
    """Run a function in a forked process; its argument is a function that reports a line of text.

    The exit code is 0 if the function returns and 1 if it raises; then the last line is the exception's message.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_run, args=(work, sender))
    child.start()
    sender.close()
    last, end, how = "", time.monotonic() + limit, ""
    try:
        while receiver.poll(max(0.0, end - time.monotonic())):
            last = receiver.recv()
        child.kill()
        how = "does not finish in time"
    except (EOFError, OSError):  # it has ended
        pass
    child.join()
    code = child.exitcode or 0
    return Ended(last, code, how or describe_end(code))


def _run(work: _Work, sender: Connection) -> None:
    code = 1
    try:
        work(sender.send)
        code = 0
    except BaseException as error:
        sender.send(str(error) or type(error).__name__)
    finally:
        os._exit(code)
