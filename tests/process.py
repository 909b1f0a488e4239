"""Python in a process of its own, for what must not happen in the one of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent


def python(
    *arguments: str | Path, cwd: Path, path: Path = CHECKOUT, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in `cwd`, with pykernels found in `path`; the exit code is the caller's to check."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "120",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
    )


def program(
    text: str, *, cwd: Path, path: Path = CHECKOUT, timeout: float = 120, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that must succeed, with warnings as they are for users."""
    done = python("-c", textwrap.dedent(text), cwd=cwd, path=path, timeout=timeout, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done
