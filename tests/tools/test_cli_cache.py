"""``python -m pykernels cache``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from process import CHECKOUT, finish, python

from pykernels.build import cache
from pykernels.tools import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PYKERNELS_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"


def write(path: Path) -> dict[str, str]:
    path.write_text("x" * 900)
    return {}


def fill() -> None:
    for kind, key in (("definitions", "a"), ("kernels", "b"), ("kernels", "c")):
        cache.build(kind, key, "a.so", write)


def test_shows_where_it_is_and_what_is_in_it(home: Path, tmp_path: Path) -> None:
    fill()
    done = python("-m", "pykernels", "cache", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    place, *table = done.stdout.splitlines()
    assert place == str(home)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table if line.startswith("│")]
    assert [row[:2] for row in rows] == [["definitions", "1"], ["kernels", "2"], ["total", "3"]]
    assert rows[0][2] == f"{sum(p.stat().st_size for p in home.glob('definitions/**/*') if p.is_file())} bytes"


@pytest.mark.thorough
def test_clear_without_a_terminal_does_not_ask(home: Path, tmp_path: Path) -> None:
    fill()
    done = python("-m", "pykernels", "cache", "--clear", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "removed 3 entries\n", "")
    assert list(home.rglob("*.so")) == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "answer", "removed"), [([], b"y\n", True), ([], b"\n", False), (["--yes"], b"", True)]
)
def test_clear_at_a_terminal_asks_unless_yes_is_given(
    home: Path, tmp_path: Path, arguments: list[str], answer: bytes, removed: bool
) -> None:
    fill()
    ours, its = os.openpty()
    command = [sys.executable, "-m", "pykernels", "cache", "--clear", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    os.write(ours, answer)
    with subprocess.Popen(command, stdin=its, stdout=subprocess.PIPE, cwd=tmp_path, env=environment, text=True) as run:
        message, _ = finish(run)
    os.close(ours)
    os.close(its)
    assert bool(re.search(rf"Remove 3 entries \(\d\.\d kB\) from {home}\? \[y/N\]", message)) == (not arguments)
    assert (run.returncode == 0) == removed
    assert ("removed 3 entries" in message) == removed
    assert (list(home.rglob("*.so")) == []) == removed


def test_clear_that_cannot_write_says_what_to_do(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fill()
    # Root may write anywhere, so something that cannot be opened stands where a lock should be.
    (home / "kernels/b.lock").unlink()
    (home / "kernels/b.lock").mkdir()
    assert cli.main(["cache", "--clear", "--yes"]) == 1
    assert f"pykernels: the cache directory {home} cannot be written: " in capsys.readouterr().err
