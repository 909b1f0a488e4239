"""The demo, from the first line to the picture, in fewer epochs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from process import CHECKOUT, python

DEMO = CHECKOUT / "examples" / "digits.py"


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return python(DEMO, *arguments, cwd=cwd)


@pytest.mark.thorough
def test_trains_compares_and_draws(tmp_path: Path) -> None:
    done = run("--epochs", "12", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split("│")[1:3] for line in done.stdout.splitlines() if line.startswith("│")]
    titles = ["pykernels", "pykernels, OneFlow", "MXNet built-in", "OneFlow built-in", "Python CustomOp"]
    assert [title.strip() for title, _ in rows] == titles
    assert len({accuracy for _, accuracy in rows}) == 1
    picture = tmp_path / "demo_output" / "digits.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    # OneFlow writes its log beside it.
    assert {path.name for path in tmp_path.iterdir()} <= {"demo_output", "log"}


@pytest.mark.thorough
def test_too_few_epochs_fail_loudly(tmp_path: Path) -> None:
    done = run("--epochs", "1", "--output", "curves.png", cwd=tmp_path)
    assert done.returncode == 1
    assert "digits.py: pykernels: test accuracy " in done.stderr
    assert "below 97%" in done.stderr
    assert (tmp_path / "curves.png").is_file()


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DEMO.parent))
        specification = importlib.util.spec_from_file_location("digits", DEMO)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        patch.setitem(sys.modules, "digits", module)
        specification.loader.exec_module(module)
        return module


def test_rows_are_those_of_the_frameworks_that_are_there(demo: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(ops: Any, *args: Any) -> Any:
        return demo.Run(ops.title, 1.0, np.zeros(1), 1.0)

    monkeypatch.setattr(demo.digits_mxnet, "train", train)
    monkeypatch.setattr(demo, "has_oneflow", lambda: False)
    runs, reference = demo.train(None, 1, None)
    assert [run.title for run in runs] == ["pykernels", "MXNet built-in", "Python CustomOp"]
    assert reference is runs[1]


@pytest.mark.parametrize("wrong", [1e-3, np.nan])
def test_losses_that_differ_are_a_fault(demo: ModuleType, wrong: float) -> None:
    losses = np.linspace(2, 0.1, 50)
    reference = demo.Run("MXNet built-in", 0.98, losses, 1.0)
    close = demo.Run("pykernels", 0.98, losses + 1e-6, 1.0)
    other = demo.Run("Python CustomOp", 0.98, losses + np.where(np.arange(50) == 30, wrong, 0), 1.0)
    assert demo.faults([close, reference], reference) == []
    (fault,) = demo.faults([close, reference, other], reference)
    assert fault.startswith("Python CustomOp: the losses differ from those of MXNet built-in by more than")


@pytest.mark.thorough
def test_two_workers_train_as_one_process(tmp_path: Path) -> None:
    done = python(CHECKOUT / "examples" / "digits_distributed.py", "--epochs", "2", "--timeout", "100", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "44 steps on 2 workers" in done.stdout
