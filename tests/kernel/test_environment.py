"""What the key of compiled code holds besides the source."""

from __future__ import annotations

import platform
from pathlib import Path

import llvmlite
import numba
import numpy as np
import pytest
from process import program

import pykernels
from pykernels.kernel.environment import environment


@pytest.mark.parametrize("package", [pykernels, numba, llvmlite, np, platform.python_version, platform.machine])
def test_versions_and_machine_count(package: object) -> None:
    told = package() if callable(package) else package.__version__
    assert any(told in part for part in environment())


def test_another_version_is_another_environment(tmp_path: Path) -> None:
    """A package is found as Python finds it, and need not be one that can be imported."""
    text = "from pykernels.kernel.environment import environment\nprint(environment())"
    found = []
    for version in ("1.0", "1.1"):
        package = tmp_path / version / "numba"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise ImportError('not to be imported')")
        (package / "_version.py").write_text(f"version = {version!r}\n")
        found.append(program(f"import sys\nsys.path.insert(0, {str(package.parent)!r})\n{text}", cwd=tmp_path).stdout)
    assert len({*found, program(text, cwd=tmp_path).stdout}) == 3


def test_options_of_numba_are_part_of_the_environment(tmp_path: Path) -> None:
    text = "from pykernels.kernel.environment import environment\nprint(environment())"
    found = [program(text, cwd=tmp_path, NUMBA_BOUNDSCHECK=value).stdout for value in ("0", "1")]
    assert found[0] != found[1]


def test_a_package_without_a_version_file_is_asked_for_its_metadata(tmp_path: Path) -> None:
    (tmp_path / "llvmlite.py").touch()
    text = "import sys\nfrom pykernels.kernel.environment import environment\nprint(environment()[1])"
    assert program(text, cwd=tmp_path).stdout.strip() == llvmlite.__version__


def test_nothing_of_it_is_imported(tmp_path: Path) -> None:
    text = """
        import sys
        from pykernels.kernel.environment import environment
        environment()
        print([name for name in ("numba", "llvmlite", "importlib.metadata") if name in sys.modules])
    """
    assert program(text, cwd=tmp_path).stdout == "[]\n"
