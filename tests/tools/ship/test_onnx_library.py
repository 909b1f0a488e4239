"""Libraries of custom ops: self-contained, for every version of ONNX Runtime, with or without Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import process
import pytest
from models import feed, one_node

from pykernels.base import paths
from pykernels.build import toolchain
from pykernels.build.processor import LEVELS

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

# A fused kernel, into which the axis is compiled.
SOFTMAX = """
import numpy as np


def forward(args, *, axis):
    (x,) = args
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def backward(args, *, axis):
    y, dy = args
    return y * (dy - (y * dy).sum(axis=axis, keepdims=True))
"""
PROGRAMS = Path(__file__).parent / "programs"
#: Folders with other versions of ONNX Runtime, each for this Python.
OTHERS = [Path(folder) for folder in os.environ.get("PYKERNELS_TEST_ONNXRUNTIMES", "").split(os.pathsep) if folder]


def build(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return process.python("-m", "pykernels", "build", "--onnx", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def library(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    fused = shutil.copytree(paths.OPS / "softmax", tmp_path_factory.mktemp("ops") / "softmax")
    (fused / "softmax_py_kernel.py").write_text(SOFTMAX)
    ops = [paths.OPS / "leaky_relu", fused, paths.OPS / "softmax_cross_entropy", paths.OPS / "dense"]
    done = build(*ops, "-o", "ops.so", "--dtype", "float32", "--cpu", "x86-64-v2", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "pykernels::leaky_relu: float32 of any number of axes",
        "pykernels::leaky_relu_backward: float32 of any number of axes",
        "pykernels::softmax: float32 of 1, 2, 3, 4 axes",
        "pykernels::softmax_backward: float32 of 1, 2, 3, 4 axes",
        "pykernels::softmax_cross_entropy: float32 of 2 axes",
        "pykernels::softmax_cross_entropy_backward: int64 of 1 axes",
        "pykernels::dense: float32 of 2 axes",
        "pykernels::dense_backward: float32 of 2 axes",
    ]
    assert sorted(path.name for path in folder.iterdir()) == ["ops.so"]
    return folder / "ops.so"


def run(library: Path, model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are the test's to see
    options.register_custom_ops_library(str(library))
    return list(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feed(inputs)))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def test_needs_the_c_library_alone(library: Path) -> None:
    needed = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    libraries = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "(NEEDED)" in line]
    assert set(libraries) <= {"libc.so.6", "libm.so.6", "libmvec.so.1", "ld-linux-x86-64.so.2"}
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.splitlines()
    undefined = [line.split()[-1] for line in symbols if " U " in line]
    assert undefined and all("@GLIBC_" in name for name in undefined)
    assert [line.split()[-1] for line in symbols if " T " in line] == ["RegisterCustomOps"]


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
def test_fast_math(tmp_path: Path, cpu: str) -> None:
    op = shutil.copytree(paths.OPS / "leaky_relu", tmp_path / "leaky_relu")
    kernel = "FAST_MATH = True\n\n\ndef forward(args, *, alpha):\n    (x,) = args\n    return x * x - alpha\n"
    (op / "leaky_relu_py_kernel.py").write_text(kernel)
    done = build(op, "-o", "ops.so", "--dtype", "float32", "--no-gradients", "--cpu", cpu, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    x = np.full(300, 1 + 2**-12, np.float32)
    (y,) = run(tmp_path / "ops.so", one_node("leaky_relu", [x], ["float32"], alpha=1.0), [x])
    # The last bit of the square does not fit float32: it counts where the difference is not rounded by itself.
    assert (y == np.float32(2**-11 + (2**-24 if cpu == "x86-64-v3" else 0))).all()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4, 5, 6), (0, 2)], ids=str)
def test_elementwise_kernels_serve_any_shape(library: Path, shape: tuple[int, ...]) -> None:
    x = np.asarray(np.random.default_rng(0).normal(size=shape), np.float32)
    (y,) = run(library, one_node("leaky_relu", [x], ["float32"], alpha=0.25), [x])
    np.testing.assert_array_equal(y, np.where(x > 0, x, np.float32(0.25) * x))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 1, 3, 2)], ids=str)
def test_other_kernels_serve_what_they_were_compiled_for(library: Path, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    (y,) = run(library, one_node("softmax", [x], ["float32"]), [x])
    np.testing.assert_allclose(y, softmax(x), rtol=2e-6)


@pytest.mark.parametrize("axis", [-2, 0, 1])
def test_numbers_that_are_compiled_in_have_several_values(library: Path, axis: int) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
    (y,) = run(library, one_node("softmax", [x], ["float32"], axis=axis), [x])
    np.testing.assert_allclose(y, np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis), rtol=2e-6)


def test_several_outputs_and_whole_numbers(library: Path) -> None:
    logits, labels = np.random.default_rng(0).normal(size=(4, 3)).astype("float32"), np.array([0, 2, 1, 1])
    model = one_node("softmax_cross_entropy", [logits, labels], ["float32", "float32"])
    loss, probability = run(library, model, [logits, labels])
    np.testing.assert_allclose(probability, softmax(logits), rtol=2e-6)
    np.testing.assert_allclose(loss, -np.log(softmax(logits)[range(4), labels]), rtol=2e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 33, 5), (97, 40, 600), (0, 3, 2), (3, 0, 2), (3, 2, 0)], ids=str)
def test_matrix_products_need_no_blas(library: Path, shape: tuple[int, int, int]) -> None:
    rows, outputs, inner = shape
    rng = np.random.default_rng(0)
    x, w, dy = (rng.normal(size=size).astype("float32") for size in ((rows, inner), (outputs, inner), (rows, outputs)))
    (y,) = run(library, one_node("dense", [x, w], ["float32"], bias=0.5), [x, w])
    dx, dw = run(library, one_node("dense_backward", [x, w, dy], ["float32"] * 2), [x, w, dy])
    for result, expected in ((y, x @ w.T + 0.5), (dx, dy @ w), (dw, dy.T @ x)):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_missing_kernels_are_reported(library: Path) -> None:
    x = np.ones((1,) * 5, np.float32)
    with pytest.raises(Exception) as caught:
        run(library, one_node("softmax", [x], ["float32"]), [x])
    assert "op 'softmax_forward': this library has no kernel for x: float32 of 5 axes" in str(caught.value)
    assert "It has been built for [PK400]:\n  x: float32 of 2 axes, axis=-1" in str(caught.value)
    double = x.astype("float64")
    with pytest.raises(Exception, match="no kernel for x: float64 of 5 axes"):
        run(library, one_node("leaky_relu", [double], ["float64"]), [double])


def test_definitions_refuse_inputs_as_elsewhere(library: Path) -> None:
    x, dy = np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)
    with pytest.raises(Exception, match=r"leaky_relu_cpp_def.cpp:\d+: dy must have the shape of x, \(2, 3\), but has"):
        run(library, one_node("leaky_relu_backward", [x, dy], ["float32"]), [x, dy])


WITHOUT_PYKERNELS = """
    import sys

    class Refuse:
        def find_spec(self, name, path=None, target=None):
            assert name.partition(".")[0] not in ("pykernels", "numba", "llvmlite", "scipy"), name

    sys.meta_path.insert(0, Refuse())
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(sys.argv[1])
    session = onnxruntime.InferenceSession(sys.argv[2], options)
    print(onnxruntime.__version__, session.run(None, {"x0": numpy.array([[-2, 3]], "float32")})[0].tolist())
"""


@pytest.fixture(scope="module")
def model(folder: Path, library: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(one_node("leaky_relu", [np.ones(1, np.float32)], ["float32"], alpha=0.5), path)
    return path


def test_python_without_pykernels_loads_it(library: Path, model: Path) -> None:
    done = process.python("-c", textwrap.dedent(WITHOUT_PYKERNELS), library, model, cwd=model.parent, path=model.parent)
    assert done.stdout.split(maxsplit=1)[1:] == ["[[-1.0, 3.0]]\n"], done.stderr


@pytest.mark.skipif(
    not OTHERS, reason="PYKERNELS_TEST_ONNXRUNTIMES names no folders with other versions of ONNX Runtime"
)
def test_other_versions_load_it(library: Path, model: Path) -> None:
    versions = set()
    for other in OTHERS:
        done = process.python("-c", textwrap.dedent(WITHOUT_PYKERNELS), library, model, cwd=model.parent, path=other)
        version, result = done.stdout.split(maxsplit=1)
        assert result == "[[-1.0, 3.0]]\n"
        versions.add(version)
    assert len(versions) == len(OTHERS)


def test_a_program_in_cpp_loads_it(library: Path, model: Path) -> None:
    folder = model.parent / "linked"
    folder.mkdir()
    (runtime,) = Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.*")
    (folder / "libonnxruntime.so.1").symlink_to(runtime)  # the name that it has for programs
    source, program = PROGRAMS / "run_model.cpp", folder / "run_model"
    linked = [str(runtime), f"-Wl,-rpath,{folder}", "-o", str(program)]
    toolchain.run([*toolchain.compiler(), "-std=c++17", str(source), *linked], what="program")
    numbers = ["-2", "-0.5", "0", "4"]
    done = process.run([program, library, model, *numbers])
    assert (done.returncode, done.stdout) == (0, "-1 -0.25 0 4 \n"), done.stderr


# ---- what cannot be built


def own(tmp_path: Path, kernel: str) -> Path:
    """leaky_relu with another kernel."""
    made = tmp_path / "leaky_relu"
    shutil.copytree(paths.OPS / "leaky_relu", made, ignore=shutil.ignore_patterns("__pycache__"))
    (made / "leaky_relu_py_kernel.py").write_text(textwrap.dedent(kernel))
    return made


def refusal(folder: Path, *arguments: str, cwd: Path) -> str:
    """What a build that fails says; it leaves nothing behind."""
    before = sorted(cwd.iterdir())
    done = build(folder, "-o", "ops.so", "--dtype", "float32", *arguments, cwd=cwd)
    assert (done.returncode, done.stdout) == (1, "")
    assert sorted(cwd.iterdir()) == before
    return done.stderr


PYTHON = """
    import numpy as np

    def forward(args, *, alpha):
        (x,) = args
        return np.vectorize(lambda value: value)(x)

    def backward(args, *, alpha):
        x, dy = args
        return dy
"""


def test_a_kernel_that_needs_python_is_refused(tmp_path: Path) -> None:
    message = refusal(own(tmp_path, PYTHON), cwd=tmp_path)
    assert (
        "op 'leaky_relu_forward':" in message
        and "leaky_relu_py_kernel.py:4: forward needs Python at run time" in message
    )


@pytest.mark.thorough
def test_a_kernel_that_calls_python_is_refused(tmp_path: Path) -> None:
    message = refusal(
        own(tmp_path, PYTHON.replace("np.vectorize(lambda value: value)(x)", "np.fft.fft(x).real.astype(x.dtype)")),
        cwd=tmp_path,
    )
    assert "leaky_relu_py_kernel.py:6: forward needs Python at run time: it calls np.fft.fft: " in message


def test_a_definition_in_python_is_refused(tmp_path: Path) -> None:
    message = refusal(paths.OPS / "batch_norm", cwd=tmp_path)
    assert "op 'batch_norm': its definition" in message and "is Python, which a library cannot contain" in message


def test_an_unknown_processor_is_refused(tmp_path: Path) -> None:
    message = refusal(paths.OPS / "leaky_relu", "--cpu", "pentium", cwd=tmp_path)
    choices = f"native, {', '.join(LEVELS)}"
    assert (
        message
        == f"pykernels: cannot compile for processor 'pentium' on this machine; the choices are {choices} [PK500]\n"
    )


@pytest.mark.parametrize(("output", "why"), [("missing/ops.so", "No such file or directory"), (".", "is a directory")])
def test_an_output_that_cannot_be_written_is_reported(tmp_path: Path, output: str, why: str) -> None:
    done = build(paths.OPS / "leaky_relu", "-o", output, "--dtype", "float32", cwd=tmp_path)
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and why in done.stderr
    assert list(tmp_path.iterdir()) == []


RAISES = """
    def forward(args, *, alpha):
        (x,) = args
        y = x.copy()
        for i in range(len(x)):
            if x[i] > 100:
                raise ValueError("too large")
        return y

    def backward(args, *, alpha):
        x, dy = args
        return dy
"""


def test_a_kernel_that_raises_fails_the_run(tmp_path: Path) -> None:
    # It serves one axis alone: what it does not serve, and nobody has named, is left out.
    done = build(own(tmp_path, RAISES), "-o", "ops.so", "--shape", "x=3", "--dtype", "float32", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    good, bad = np.ones(3, np.float32), np.full(3, 101, np.float32)
    model = one_node("leaky_relu", [good], ["float32"])
    np.testing.assert_array_equal(run(tmp_path / "ops.so", model, [good])[0], good)
    with pytest.raises(Exception, match=r"op 'leaky_relu_forward': leaky_relu_py_kernel.py:2: the kernel raised"):
        run(tmp_path / "ops.so", model, [bad])


PRODUCTS = """
    import numpy as np

    def forward(args, *, alpha):
        (x,) = args
        y = np.zeros_like(x)
        y[0] = x @ x[0]
        y[1] = x.T @ x[1]
        y[2, 0] = np.dot(x[0], x[1])
        y[2, 1] = np.linalg.slogdet(x)[1]
        y[2, 2] = np.linalg.inv(x)[0, 0]
        y[2, 3] = np.linalg.cholesky(x @ x.T + np.eye(len(x)))[1, 0]
        y[3:] = (x.T @ x)[3:]
        return y

    def backward(args, *, alpha):
        x, dy = args
        return dy
"""


@pytest.mark.parametrize("n", [4, 37])
def test_products_of_vectors_and_factors(products: Path, n: int) -> None:
    for dtype, tolerance in (("float32", 1e-4), ("float64", 1e-12)):
        x = np.random.default_rng(0).normal(size=(n, n)).astype(dtype)
        root = np.linalg.cholesky(x @ x.T + np.eye(n))
        row = np.zeros(n)
        row[:4] = x[0] @ x[1], np.linalg.slogdet(x)[1], np.linalg.inv(x)[0, 0], root[1, 0]
        expected = np.concatenate([[x @ x[0], x.T @ x[1], row], (x.T @ x)[3:]])
        (y,) = run(products, one_node("leaky_relu", [x], [dtype]), [x])
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("products")
    arguments = ("-o", "ops.so", "--shape", "x=8,8", "--dtype", "float32", "float64", "--no-gradients")
    done = build(own(place, PRODUCTS), *arguments, cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "ops.so"


def test_nodes_can_have_another_domain_and_no_gradients(tmp_path: Path) -> None:
    arguments = ["-o", "ops.so", "--dtype", "float32", "--domain", "ai.graphcore", "--no-gradients"]
    done = build(paths.OPS / "leaky_relu", *arguments, cwd=tmp_path)
    assert done.stdout == "ai.graphcore::leaky_relu: float32 of any number of axes\n"
