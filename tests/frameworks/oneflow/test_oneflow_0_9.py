"""OneFlow 0.9, in an environment of its own: the tests of this folder run with whatever version is installed."""

from __future__ import annotations

import os
import subprocess
from importlib import metadata
from pathlib import Path

import process
import pytest

VARIABLE = "PYTHON_ONEFLOW_0_9"
FILES = ("blas", "devices", "errors", "functions", "gradients", "guide", "registrar", "training")


@pytest.mark.thorough
def test_the_tests_of_this_folder_pass() -> None:
    python = os.environ.get(VARIABLE)
    if not python:
        installed = metadata.version("oneflow")
        pytest.skip(f"OneFlow 0.9 was not tried: ${VARIABLE} names no Python that has it; installed is {installed}")
    found = run(python, "-c", "import oneflow; print(oneflow.__version__)")
    if found.returncode != 0:
        reason = found.stderr.strip().rpartition("\n")[2]
        pytest.skip(f"OneFlow 0.9 was not tried, since {python} cannot import OneFlow: {reason}")
    assert found.stdout.startswith("0.9.")
    files = [Path(__file__).parent / f"test_oneflow_{name}.py" for name in FILES]
    files.append(process.CHECKOUT / "tests/vendors/oneflow_legacy/test_legacy_results.py")
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, limit=1200)
    assert done.returncode == 0, done.stdout + done.stderr


def run(*command: str | Path, limit: float = process.LIMIT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(process.CHECKOUT)}
    return process.run(command, cwd=process.CHECKOUT, env=environment, limit=limit)
