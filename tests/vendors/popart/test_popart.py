"""Ops in PopART's C++: built by a Makefile of the user's, run by PopRT's command line."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from process import CHECKOUT, python

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

EXAMPLE = CHECKOUT / "examples" / "poprt"
#: Folders with the files that the guide includes, of versions of PopRT.
GUIDES = [Path(folder) for folder in os.environ.get("PYKERNELS_TEST_POPRT_EXAMPLES", "").split(os.pathsep) if folder]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, with all that is built in it."""
    folder = tmp_path_factory.mktemp("popart") / "poprt"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for arguments in (("-m", "pykernels", "run", "make"), ("make_model.py",)):
        done = python(*arguments, cwd=folder)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return folder


def test_the_example(example: Path) -> None:
    x = np.linspace(-1, 1, 24, dtype="float32").reshape(4, 6)
    np.savez(example / "inputs.npz", x=x)
    done = python(
        *("-m", "pykernels", "run", "-m", "poprt.cli", "--input_model", "model.onnx"),
        *("--custom_library_so_paths", "custom_ops.so", "--custom_shape_inference", "shapes.py"),
        *("--show", "--run", "--input_data", "inputs.npz", "--save_outputs", "outputs.npz"),
        cwd=example,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "ai.graphcore::SoftThreshold pulled: float32 (4, 6)\n" in done.stdout and "\nDevice: CPU" in done.stdout
    y = (np.sign(x) * np.maximum(np.abs(x) - np.float32(0.25), 0)).sum(axis=1)
    np.testing.assert_allclose(np.load(example / "outputs.npz")["y"], y, rtol=1e-6)


@pytest.mark.skipif(not GUIDES, reason="PYKERNELS_TEST_POPRT_EXAMPLES names no folders with PopRT's own examples")
@pytest.mark.parametrize("folder", GUIDES, ids=str)
def test_the_guide(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert python("-m", "pykernels", "run", "make", cwd=tmp_path).returncode == 0
    assert (tmp_path / "build" / "custom_ops.so").exists()
    # Its script builds by another way, and calls `poprt`.
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    done = python("-m", "pykernels", "run", "python", "create_onnx_with_custom_op.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Bs: 8\nLatency: ")


def test_compilers_that_a_script_calls_find_the_headers(tmp_path: Path) -> None:
    (tmp_path / "op.cpp").write_text("#include <popart/op.hpp>\n")
    (tmp_path / "script.py").write_text("""
import os, subprocess
print(os.system("echo nothing to do"), "CPLUS_INCLUDE_PATH" in os.environ)
print(subprocess.call(["g++", "-std=c++17", "-fPIC", "-shared", "op.cpp", "-o", "op.so", "-lpopart"]))
print(os.system("cd . && g++ -std=c++17 -c op.cpp"))
""")
    done = python("-m", "pykernels", "run", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n")[:3] == ["nothing to do", "0 False", "0"] and done.stdout.endswith("0\n")
