"""The command line at terminals: narrow ones, those of few characters, and with somebody who interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from process import CHECKOUT, finish, python, run


def command(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("-W", "error", "-m", "pykernels", *arguments, cwd=cwd, **environment)


def test_a_narrow_table_loses_nothing(tmp_path: Path) -> None:
    narrow = command("list", "relu", "softmax_cross_entropy", cwd=tmp_path, COLUMNS="40").stdout
    assert "…" not in narrow
    table = [[cell.strip() for cell in line.split("│")[1:-1]] for line in narrow.splitlines() if "│" in line]
    assert "".join(row[0] for row in table) == "relusoftmax_cross_entropy"
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    piped = run([sys.executable, "-m", "pykernels", "list", "softmax_cross_entropy"], cwd=CHECKOUT, env=environment)
    (row,) = (line for line in piped.stdout.splitlines() if "│" in line)
    assert "softmax_cross_entropy_forward(logits, labels, *, need_top_grad" in row and row.endswith("│ shipped │")


@pytest.mark.thorough
def test_an_output_of_few_characters_gets_escapes_for_others(tmp_path: Path) -> None:
    done = command(
        *("bench", "relu", "--sizes", "4", "--rounds", "1"),
        cwd=tmp_path,
        PYTHONIOENCODING="ascii",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xf7 copy" in done.stdout


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes that are started end at an interrupt, even if this one, in the background, is to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.thorough
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    "arguments", [["check", "relu", "sigmoid"], ["warmup", "relu", "sigmoid"], ["list"]], ids=" ".join
)
def test_an_interrupt_ends_it_and_is_reported_in_one_line(arguments: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pykernels", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "PYKERNELS_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        # The cache is made when something is built, in this process or in another.
        while not (tmp_path / "cache").exists() and process.poll() is None:
            time.sleep(0.1)
        # To all, as a terminal does.
        os.killpg(process.pid, signal.SIGINT)
        out, err = finish(process)
    assert (process.returncode, out, err) == (130, "", "pykernels: interrupted\n")
