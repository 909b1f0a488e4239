"""What the doctor finds: here all is well, and what is taken away is named with its cure."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from process import python

from pykernels.base.frameworks import FRAMEWORKS
from pykernels.kernel.numba import hooks
from pykernels.tools import cli
from pykernels.tools.commands import doctor


def examined(tmp_path: Path, code: int, **environment: str) -> dict[str, dict[str, str]]:
    done = python("-m", "pykernels", "doctor", "--json", cwd=tmp_path, **environment)
    assert done.returncode == code, done.stdout + done.stderr
    return {finding["what"]: finding for finding in json.loads(done.stdout)}


def test_all_is_well_here(tmp_path: Path) -> None:
    found = examined(tmp_path, 0)
    for what in ("Python", "numba", "llvmlite", "scipy", "C++ compiler", "cache", "ops", "NumPy", "ONNX Runtime"):
        assert found[what]["state"] == "works", found[what]
        assert found[what]["cure"] == ""
    assert f"{np.__version__}; an op runs in it" in found["NumPy"]["found"]
    absent = [finding for finding in found.values() if finding["state"] == "absent" and finding["what"] == "PyTorch"]
    assert all("pip install" in finding["cure"] for finding in absent)


@pytest.mark.thorough
def test_what_fails_is_named_with_its_cure(tmp_path: Path) -> None:
    (tmp_path / "ops/broken").mkdir(parents=True)
    (tmp_path / "ops/broken/broken_py_api.py").write_text("")
    (tmp_path / "file").write_text("")
    found = examined(tmp_path, 1, CXX=str(tmp_path / "nowhere"), PYKERNELS_CACHE=str(tmp_path / "file/cache"))
    assert {what for what, finding in found.items() if finding["state"] == "fails"} >= {"C++ compiler", "cache", "ops"}
    assert "nowhere', which" in found["C++ compiler"]["found"]
    assert "apt install g++" in found["C++ compiler"]["cure"]
    assert "PYKERNELS_CACHE" in found["cache"]["cure"]
    assert "broken_cpp_def.cpp" in found["ops"]["found"] and found["ops"]["cure"] == "python -m pykernels list"
    assert found["NumPy"]["cure"] == "repair what fails above first"


def test_a_person_sees_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    findings = [
        doctor._Finding("one", doctor.WORKS, "1.0"),
        doctor._Finding("other", doctor.FAILS, "gone", "apt get it"),
    ]
    monkeypatch.setattr(doctor, "_examine", lambda: iter(findings))
    assert cli.main(["doctor"]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["one", "works", "1.0"], ["other", "fails", "gone"], ["apt", "get", "it"]]


def test_the_interpreters_that_frameworks_need_are_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A shim that is there, but has no interpreter behind it.
    for name in ("python3.10", "python3.11"):
        shim = tmp_path / name
        shim.write_text("#!/bin/sh\nexit 127\n")
        shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    findings = list(doctor._interpreters())
    assert {(finding.state, finding.found) for finding in findings} == {("absent", "not found")}
    assert {finding.what for finding in findings} == {"python3.10", "python3.11"} - {f"python3.{sys.version_info[1]}"}


@pytest.mark.parametrize("version, advised", [("1.23.5", []), ("1.26.4", ["mxnet"]), ("2.5.5", ["mxnet"])])
def test_what_an_import_of_mxnet_needs(version: str, advised: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "__version__", version)
    advice = {package: doctor._advice_on(package) for package in FRAMEWORKS}
    assert [package for package, text in advice.items() if text] == advised
    assert all(f"NumPy {version}" in advice[package] for package in advised)


def test_a_version_of_numba_that_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "NEXT", hooks.OLDEST)
    numba, *_ = doctor._numba()
    assert (numba.what, numba.state) == ("numba", "note")
    assert "not tested: loops and whole-array kernels go without counting, reductions, fast_math" in numba.found
    assert numba.cure.endswith("-m pip install 'numba >= 0.68, < 0.69'")
    monkeypatch.delattr("numba.core.compiler.compile_extra")
    monkeypatch.setattr(hooks, "_missing", hooks._missing.__wrapped__)
    numba, *_ = doctor._numba()
    assert "run as Python: numba 0.68" in numba.found and "compile_extra, which target relies on" in numba.found
    assert "\n" not in numba.found
