"""Libraries for C: called from a program in C, and by ctypes."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from folders import write_op
from process import python, run

from pykernels.base import paths
from pykernels.build import toolchain

PROGRAM = Path(__file__).parent / "programs" / "call_ops.c"

ADD_TO = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("add_to_forward")
    .Input("x", "floating[n]")
    .Input("total", "floating[n]")
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("total", 0)->set_is_mutable(true);
    });
}  // namespace oneflow
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    ops = [paths.OPS / name for name in ("leaky_relu", "softmax", "box_clip")]
    arguments = ["-o", "ops.so", "--dtype", "float32", "--no-gradients"]
    done = python("-m", "pykernels", "build", "--c", *ops, *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == [
        f"pykernels_{name}" for name in ("leaky_relu", "softmax", "box_clip")
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["ops.h", "ops.so"]
    return folder / "ops.so"


def test_needs_the_c_library_alone_and_shows_its_functions(library: Path) -> None:
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.splitlines()
    assert all("@GLIBC_" in line.split()[-1] for line in symbols if " U " in line)
    shown = sorted(line.split()[-1] for line in symbols if " T " in line)
    assert shown == ["pykernels_box_clip", "pykernels_leaky_relu", "pykernels_softmax"]


@pytest.mark.parametrize("language", ["c", "c++"])
def test_a_program_calls_it(library: Path, language: str) -> None:
    program = library.parent / f"call_ops_{len(language)}"
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", f"-I{library.parent}"]
    compiled = [*toolchain.compiler(), *flags, "-x", language, str(PROGRAM), "-x", "none", str(library)]
    toolchain.run([*compiled, f"-Wl,-rpath,{library.parent}", "-o", str(program)], what="program")
    done = run([program])
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines[:3] == ["type 2 of 2 axes: 2 3", "-1 -0.5 0 1 2 3 ", "0.0900 0.6652"]
    assert lines[3] == "1: op 'softmax': the output 'y' is float32 (2, 2), but has to be float32 (2, 3) [PK400]"
    assert lines[4] == "1: op 'box_clip' needs attributes: some have no default [PK400]"
    assert (
        lines[5].startswith("1: op 'leaky_relu' for x: int32 (2, 3): ")
        and "floating point" in lines[5]
        and lines[5].endswith("[PK400]")
    )


class Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", ctypes.c_int64 * 20),
    )


def array(values: np.ndarray) -> Array:
    return Array(values.ctypes.data, 2, values.ndim, (ctypes.c_int64 * 20)(*values.shape))


def test_ctypes_calls_it(library: Path) -> None:
    loaded = ctypes.CDLL(str(library))
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    y = np.empty_like(x)
    attributes = ctypes.c_int32(0)  # a structure of one member: the axis
    error = ctypes.create_string_buffer(1000)
    size = ctypes.c_size_t(len(error))
    given = [ctypes.byref(each) for each in (array(x), array(y), attributes)]
    assert loaded.pykernels_softmax(*given, error, size) == 0, error.value
    e = np.exp(x - x.max(0))
    np.testing.assert_allclose(y, e / e.sum(0), rtol=2e-6)


def test_an_op_without_outputs(tmp_path: Path) -> None:
    """A library for ONNX Runtime refuses it."""
    folder = write_op(tmp_path, "add_to", "def forward(args):\n    x, total = args\n    total += x\n")
    (folder / "add_to_py_def.py").unlink()
    (folder / "add_to_cpp_def.cpp").write_text(ADD_TO)
    build = ("-m", "pykernels", "build", "add_to", "--dtype", "float32", "--shape", "x=3", "-o", "ops.so")
    assert python(*build, "--c", cwd=tmp_path).returncode == 0
    x, total = np.arange(3, dtype=np.float32), np.ones(3, np.float32)
    given = [ctypes.byref(array(each)) for each in (x, total)]
    assert ctypes.CDLL(str(tmp_path / "ops.so")).pykernels_add_to(*given, None, ctypes.c_size_t(0)) == 0
    assert total.tolist() == [1, 2, 3]
    done = python(*build, "--onnx", cwd=tmp_path)
    assert done.returncode == 1 and "has no outputs, so ONNX Runtime cannot run it. Return what it" in done.stderr


def test_the_header_does_not_take_the_place_of_the_library(tmp_path: Path) -> None:
    done = python("-m", "pykernels", "build", "--c", "leaky_relu", "--dtype", "float32", "-o", "ops.h", cwd=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert "ops.h is the name of a header" in done.stderr
