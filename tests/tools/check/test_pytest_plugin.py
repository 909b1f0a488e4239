"""``pytest --pykernels``: a test for each check of each op folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from messages import frames
from planted import instead, plant
from process import python

# By name, since a checkout that was installed before the plug-in was there does not know of it.
PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "pykernels.pytest_plugin")


@pytest.mark.thorough
def test_a_test_for_each_check(tmp_path: Path) -> None:
    plant(tmp_path, kernel=instead("return scale * dy", "return dy"))
    checks = "--pykernels-checks=shapes,gradient,second-derivative"
    done = python(*PYTEST, "-rs", "-v", "--pykernels", checks, ".", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    for line in ("::shapes PASSED", "::gradient FAILED", "::second-derivative SKIPPED"):
        assert f"planted/planted_py_kernel.py{line}" in done.stdout
    assert "planted: gradient" in done.stdout
    assert "opcheck('planted', [{" in done.stdout and frames(done.stdout) == []
    assert "no gradient has a gradient of its own" in done.stdout
    assert "1 failed, 1 passed, 1 skipped" in done.stdout


@pytest.mark.thorough
def test_one_check_alone(tmp_path: Path) -> None:
    plant(tmp_path)
    done = python(*PYTEST, "--pykernels", "planted", "-k", "definition", "-q", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@pytest.mark.thorough
def test_without_the_option_nothing_is_collected(tmp_path: Path) -> None:
    plant(tmp_path)
    done = python(*PYTEST, "planted", cwd=tmp_path)
    assert done.returncode == 5, done.stdout
    done = python(*PYTEST, "--pykernels", "--pykernels-checks=all", "planted", cwd=tmp_path)
    assert "--pykernels-checks: check 'all' does not exist; the checks are definition, " in done.stdout + done.stderr
