"""A package of ops as its author has it, its wheel with compiled objects, and programs that use it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from process import CHECKOUT, python

from pykernels.tools import cli


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of two ops, one of which calls BLAS."""
    folder = tmp_path_factory.mktemp("author")
    assert cli.main(["new", "gain", "--package", "demo_ops", "--path", str(folder)]) == 0
    assert cli.main(["new", "product", "--like", "matmul", "--path", str(folder / "demo_ops/demo_ops")]) == 0
    return folder / "demo_ops"


@pytest.fixture(scope="session")
def built(package: Path) -> subprocess.CompletedProcess[str]:
    """How its wheel is built, with the registrars of the frameworks that are installed."""
    done = python("-m", "pykernels", "build", "--wheel", package, "--dtype", "float32", cwd=package)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="session")
def wheel(package: Path, built: subprocess.CompletedProcess[str]) -> Path:
    (path,) = (package / "dist").iterdir()
    assert f"wrote {path}: " in built.stdout
    return path


@pytest.fixture
def site(wheel: Path, tmp_path: Path) -> Path:
    """Where the wheel is installed."""
    target = tmp_path / "site"
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True)
    return target


@pytest.fixture
def use(site: Path) -> Callable[..., str]:
    """Runs a program with the installed package and an empty cache; gives what it says on the standard error output."""

    def run(text: str, *, code: int = 0, **environment: str) -> str:
        done = python(
            *("-W", "default", "-c", textwrap.dedent(text)),
            cwd=site.parent,
            PYTHONPATH=f"{CHECKOUT}:{site}",
            PYKERNELS_CACHE=str(site.parent / "cache"),
            **environment,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr

    return run


@pytest.fixture
def without_compiler(tmp_path: Path) -> dict[str, str]:
    """An environment in which no program is found."""
    empty = tmp_path / "no_programs"
    empty.mkdir()
    return {"PATH": str(empty), "CXX": ""}
