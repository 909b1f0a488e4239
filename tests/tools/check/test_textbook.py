"""Ops from textbooks pass, and each mistake in one is found and shown by a few numbers."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textbook import RIGHT, WRONG, Op, with_mistake

from pykernels.base.errors import BuildError, PykernelsError, PykernelsWarning
from pykernels.kernel import build
from pykernels.load.module import open_folder
from pykernels.tools.check import CHECKS
from pykernels.tools.check.findings import Skipped, Wrong
from pykernels.tools.check.search import Subject

VALUES = ("definition", "dtypes", "shapes", "overflow", "gradient")


@pytest.fixture(autouse=True)
def _nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: Any) -> Any:
        raise BuildError("these checks compare what plain NumPy computes")

    monkeypatch.setattr(build, "compile_kernel", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PykernelsWarning)
        yield


def finding(op: Op, name: str, folder: Path) -> Exception | None:
    """Return the first error that checks find in an op."""
    # Without examples that hypothesis draws.
    subject = Subject(open_folder(op.write(folder, name)), examples=0)
    for check in VALUES:
        try:
            importlib.import_module(f"pykernels.tools.check.{CHECKS[check]}").check(subject)
        except Skipped:
            continue
        except (Wrong, PykernelsError) as error:
            return error
    return None


@pytest.mark.thorough
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_op_passes(name: str, tmp_path: Path) -> None:
    found = finding(RIGHT[name], name, tmp_path)
    assert found is None, (str(found), getattr(found, "sample", None))


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "part", "instead"), WRONG)
def test_a_mistake_is_found(name: str, part: str, instead: str, tmp_path: Path) -> None:
    found = finding(with_mistake(RIGHT[name], part, instead), name, tmp_path)
    assert isinstance(found, Wrong) and found.sample is not None, found
    # Two rows of three inputs show a mistake in a normalization.
    assert sum(array.size for group in found.sample.inputs for array in group) <= 6, (str(found), found.sample)
