"""Bars on long work: for a person at a terminal, on the standard error output, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from process import CHECKOUT, run

from pykernels.base import progress
from pykernels.tools import cli

COLOUR = re.compile(r"\x1b\[[\d;]*3\d[\d;]*m")
TWO_SOURCES = """
    from pathlib import Path
    from pykernels.build import toolchain

    for name in ("one", "two"):
        Path(f"{name}.cpp").write_text(f"extern int {name};\\nint {name} = 1;\\n")
    toolchain.build_shared("test_registrar", [Path("one.cpp").resolve(), Path("two.cpp").resolve()])
"""


def at_terminal(command: list[str], cwd: Path, **environment: str) -> tuple[str, str]:
    """What a program writes to its standard output, and to a terminal that is its standard error output."""
    ours, its = pty.openpty()
    shown = bytearray()

    def read() -> None:
        try:
            while piece := os.read(ours, 4096):
                shown.extend(piece)
        except OSError:  # the program has ended
            pass

    reader = threading.Thread(target=read)
    reader.start()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    path = {"PYTHONPATH": str(CHECKOUT), "TERM": "xterm-256color", "COLUMNS": "100"}
    env = {**plain, **path, **environment}
    done = run([sys.executable, *command], cwd=cwd, env=env, stderr=its)
    os.close(its)
    reader.join()
    os.close(ours)
    assert done.returncode == 0, shown.decode()
    return done.stdout, shown.decode()


@pytest.mark.parametrize("colours", [True, False])
def test_the_first_build_of_a_registrar(tmp_path: Path, colours: bool) -> None:
    cache = {"PYKERNELS_CACHE": str(tmp_path / "cache")}
    none = {} if colours else {"NO_COLOR": "1"}
    out, shown = at_terminal(["-c", textwrap.dedent(TWO_SOURCES)], tmp_path, **cache, **none)
    assert out == ""
    assert "pykernels: building the test registrar, once" in shown
    assert re.search(r"\d/3", shown) and "0:00:0" in shown
    assert bool(COLOUR.search(shown)) == colours
    # What is there already takes no time.
    assert at_terminal(["-c", textwrap.dedent(TWO_SOURCES)], tmp_path, **cache)[1] == ""


def test_a_long_compilation(tmp_path: Path) -> None:
    wait = "with progress.line('compiling it', {}):\n    time.sleep(0.5)\n"
    program = f"import time\nfrom pykernels.base import progress\n{wait}"
    assert at_terminal(["-c", program.format(0.1)], tmp_path) == ("", "pykernels: compiling it ...\r\n")
    assert at_terminal(["-c", program.format(30)], tmp_path) == ("", "")


@pytest.mark.thorough
def test_a_library_and_a_wheel(tmp_path: Path) -> None:
    assert cli.main(["new", "gain", "--package", "bar_ops", "--path", str(tmp_path)]) == 0
    shared = ["--dtype", "float32", "--no-gradients", "--shape", "x=4"]
    library = ["-m", "pykernels", "build", "--c", "bar_ops/bar_ops", "-o", "ops.so", *shared]
    # What is there already takes no time.
    cache = {"PYKERNELS_CACHE": str(tmp_path / "cache")}
    out, shown = at_terminal(library, tmp_path, **cache)
    assert out == "pykernels_gain: float32 of any number of axes\n"
    assert "compiling gain" in shown and "linking ops.so" in shown and "1/2" in shown
    out, shown = at_terminal(
        ["-m", "pykernels", "build", "--wheel", "bar_ops", *shared, "--frameworks"], tmp_path, **cache
    )
    assert "gain_forward: float32 of any number of axes" in out
    assert "packing the wheel" in shown
    done = run([sys.executable, *library], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_bar_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.bar("outer", 1) as outer:
        with progress.bar("inner", 1) as inner:
            inner.begin("more")
            inner.advance()
            assert inner._progress is None
        outer.advance()
        assert outer._progress.finished
    with progress.bar("next", 1) as bar:
        assert bar._progress is not None
