"""The layout of the package: which way its imports go, and what lies where."""

from __future__ import annotations

import configparser

import pytest
from process import CHECKOUT, python

PACKAGE = CHECKOUT / "pykernels"


def test_imports_go_one_way() -> None:
    pytest.importorskip("importlinter")
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = python("-c", lint, "--no-cache", "--no-logo", cwd=CHECKOUT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_is_installed() -> None:
    configuration = configparser.ConfigParser()
    configuration.read(CHECKOUT / "setup.cfg")
    listed = set(configuration["options"]["packages"].split())
    found = {".".join(file.parent.relative_to(CHECKOUT).parts) for file in PACKAGE.rglob("__init__.py")}
    assert listed == found | {"pykernels.cpp_defs", "pykernels.ops", "pykernels.registry"}


def test_few_names_lie_beside_the_packages() -> None:
    names = [path.name for path in PACKAGE.iterdir() if path.is_file()]
    assert len(names) <= 10, sorted(names)


@pytest.mark.parametrize("framework", ["mxnet", "oneflow", "torch", "onnxruntime"])
def test_frameworks_have_the_same_files(framework: str) -> None:
    folder = PACKAGE / "frameworks" / framework
    assert {"bench.py", "check.py", "registrar.py"} <= {path.name for path in folder.iterdir()}


def test_files_are_short() -> None:
    lengths = {str(path.relative_to(PACKAGE)): path.read_text().count("\n") for path in PACKAGE.rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
