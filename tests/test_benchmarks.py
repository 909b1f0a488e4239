"""The benchmarks run and show what they measure; what they measure is no matter for a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from process import CHECKOUT, python


@pytest.mark.thorough
def test_mxnet_call(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "mxnet_call.py", "--calls", "20", "--rounds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("MXNet built-in", "pykernels", "Python CustomOp", "20,000 more calls of ours"):
        assert shown in done.stdout


@pytest.mark.thorough
def test_mxnet_classes(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "mxnet_classes.py", "--passes", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("10 times 2 passes", "Double", "PythonSigmoid", "in flight", "one at a time", "÷ MXNet"):
        assert shown in done.stdout


@pytest.mark.thorough
def test_elementwise(tmp_path: Path) -> None:
    program = CHECKOUT / "benchmarks" / "elementwise.py"
    # With a cache that few arrays fill.
    options = ("--rounds", "1", "--cache", "1e6", "--sizes", "5e4")
    done = python(program, *options, "--", "sigmoid", "hard_sigmoid", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("sigmoid forward", "hard_sigmoid backward", "50,000", "<= 1.6", "MXNet", ">= 5", "plain NumPy"):
        assert shown in done.stdout
    done = python(program, "swiss", cwd=tmp_path)
    assert done.returncode == 2
    assert "unknown kernel swiss; the kernels are relu, leaky_relu" in done.stderr


@pytest.mark.thorough
def test_threads(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "threads.py", "--rounds", "1", "--sizes", "2e5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("one thread ÷ 2 threads", "200,000 elements", "memory copies", "MXNet's relu", "sigmoid"):
        assert shown in done.stdout


@pytest.mark.thorough
def test_oneflow_call(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "oneflow_call.py", "--calls", "20", "--rounds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("relu", "sigmoid", "1,000,000", "OneFlow / pykernels"):
        assert shown in done.stdout


def test_warm_start(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "warm_start.py", "--processes", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("import pykernels", "load_ops()", "first calls of 10 ops", "together"):
        assert shown in done.stdout


@pytest.mark.thorough
def test_compile(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "compile.py", "relu", "--processes", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("definition", "forward", "backward", "elementwise", "relu of 1, 2, 3 and 4 axes"):
        assert shown in done.stdout
    assert "float32: 1 machine code\n" in done.stdout


def test_entry_call(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "entry_call.py", "roi_align", "relu", "--rounds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("roi_align forward", "roi_align backward", "relu forward", "elementwise", "under 100 ns"):
        assert shown in done.stdout


@pytest.mark.thorough
def test_kernels(tmp_path: Path) -> None:
    done = python(
        CHECKOUT / "benchmarks" / "kernels.py", "embedding", "--rounds", "1", "--largest", "256", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    # Sizes of 1, 4, 16, 64 and 256, forwards and backwards.
    assert " of 10 are slower; 0 are left out" in done.stdout


@pytest.mark.thorough
def test_everyday(tmp_path: Path) -> None:
    program = CHECKOUT / "benchmarks" / "everyday.py"
    done = python(program, "left to Python", "--rounds", "1", "--sizes", "1000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("fft", "compiles in", "1,000"):
        assert shown in done.stdout
    assert re.search(r"^(\d+) of \1 compile", done.stdout, re.MULTILINE)


def test_a_warm_start_imports_no_compiler(tmp_path: Path) -> None:
    script = CHECKOUT / "benchmarks" / "warm_start.py"
    # The first may have to build something.
    for _ in range(2):
        done = python(script, "--child", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    modules = json.loads(done.stdout)["modules"]
    assert "pykernels.kernel.blas" in modules
    compilers = {"numba", "llvmlite", "scipy", "rich", "mxnet", "pykernels.kernel.numba.compiler"}
    slow = {"importlib.metadata", "concurrent.futures", "shutil", "tempfile"}
    assert (compilers | slow) & set(modules) == set()


@pytest.mark.thorough
def test_onnxruntime_call(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "onnxruntime_call.py", "--rounds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("leaky_relu", "sigmoid", "4 elements", "1e+06", "1e+07", "of built-in"):
        assert shown in done.stdout
