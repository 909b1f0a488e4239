"""Processes that each load one framework beside the other checks, and then try cases there."""

from __future__ import annotations

import contextlib
import json
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pykernels.frameworks.case import Case

__all__ = ["HostProcess"]


class HostProcess:
    """A process that loads a framework and an op, and waits for cases; it is started at once.

    Parameters
    ----------
    package : str
        The framework's.
    folder : Path
        That of the op.
    """

    def __init__(self, package: str, folder: Path) -> None:
        # Not a pipe, which would fill before anybody reads it.
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it lives as long as the process)
        self._cases = tempfile.TemporaryFile()  # noqa: SIM115 (as above)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pykernels.tools.check.hosts", package, str(folder), str(self._cases.fileno())],
            pass_fds=[self._cases.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def give(self, cases: Sequence[Case]) -> None:
        """Let it try cases, beside whatever this process does meanwhile."""
        pickle.dump(list(cases), self._cases)
        # The process has the same file, at the same place.
        self._cases.seek(0)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which `result` tells
            self._process.stdin.write("\n")
            self._process.stdin.flush()

    def result(self, limit: float) -> tuple[list[dict[str, Any]], str]:
        """The lines that it prints about the cases, and how it ends; it is killed after `limit` seconds."""
        try:
            output, _ = self._process.communicate(timeout=limit)
            ended = self._how()
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, _ = self._process.communicate()
            ended = f"takes more than {limit:g} s"
        return [json.loads(line) for line in output.splitlines()], ended

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        self._said.close()
        self._cases.close()

    def _how(self) -> str:
        code = self._process.returncode
        self._said.seek(0)
        last = [line for line in self._said if line.strip()][-1:]
        how = f"is ended by {signal.Signals(-code).name}" if code < 0 else f"ends with exit code {code}"
        return f"{how}: {last[0].rstrip()}" if last else how
