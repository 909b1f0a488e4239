"""PopRT's command line: its guide, shape functions, conversions, and what a run takes and gives."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_files import leaky_model
from process import CHECKOUT, python
from shape_files import NEW, OLD

Run = Callable[..., str]
GUIDE = CHECKOUT.parent / "shared" / "guides" / "poprt_custom_operation.rst.txt"
#: Folders with the files that the guide includes, of versions of PopRT.
EXAMPLES = [Path(folder) for folder in os.environ.get("PYKERNELS_TEST_POPRT_EXAMPLES", "").split(os.pathsep) if folder]
SPEED = r"Bs: 8\nLatency: \d+\.\d+ms\nTput: \d+\nDevice: CPU \(CPUExecutionProvider of ONNX Runtime \d+\.\d+\.\d+\)\n"


def leaky(x: np.ndarray, alpha: float = 0.01) -> np.ndarray:
    return np.where(x > 0, x, x.dtype.type(alpha) * x)


@pytest.mark.skipif(not GUIDE.exists(), reason=f"the guide is not at {GUIDE}")
def test_the_command_of_the_guide(place: Path) -> None:
    (block,) = re.findall(r"code-block:: console\n\n((?:  .*\n?)+)", GUIDE.read_text())
    first, *rest = shlex.split(block.replace("\\\n", ""))
    assert first == "python"
    done = python("-m", "pykernels", "run", *rest, cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(SPEED, done.stdout)


@pytest.mark.skipif(not EXAMPLES, reason="PYKERNELS_TEST_POPRT_EXAMPLES names no folders with PopRT's own examples")
@pytest.mark.parametrize("folder", EXAMPLES, ids=str)
def test_the_files_of_the_guide(place: Path, folder: Path) -> None:
    (place / "custom_op_test.onnx").unlink()
    for name in ("create_onnx_with_custom_op.py", "custom_shape_inference.py"):
        shutil.copy(folder / name, name)
    # It goes on to build and to run, which fails here, and does not tell.
    assert python("create_onnx_with_custom_op.py", cwd=place).returncode == 0
    files = ("--input_model", "custom_op_test.onnx", "--custom_library_so_paths", "custom_ops.so")
    shapes = ("--custom_shape_inference", "custom_shape_inference.py")
    done = python("-m", "pykernels", "run", "-m", "poprt.cli", *files, *shapes, "--run", "--show", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ai.graphcore::LeakyRelu Y: float32 (8, 8)\n" in done.stdout
    assert re.search(SPEED, done.stdout)


@pytest.mark.thorough
@pytest.mark.parametrize("text", [NEW, OLD], ids=["1.1 and newer", "1.0"])
def test_both_spellings_of_shape_files(poprt: Run, place: Path, text: str) -> None:
    (place / "custom_shape_inference.py").write_text(text)
    assert poprt("--show") == (
        "input X: float32 (8, 8)\nai.graphcore::LeakyRelu Y: of unknown type\noutput Z: float32 (8, 8)\n"
    )
    shown = poprt("--show", "--run", "--custom_shape_inference", "custom_shape_inference.py")
    types = "input X: float32 (8, 8)\nai.graphcore::LeakyRelu Y: float32 (8, 8)\noutput Z: float32 (8, 8)\n"
    assert re.fullmatch(re.escape(types) + SPEED, shown)


def test_arrays_go_in_and_out(poprt: Run) -> None:
    onnx.save(leaky_model(), "leaky.onnx")
    poprt("--run", "--input_data", "inputs.npz", "--save_outputs", "outputs.npz", model="leaky.onnx")
    x = np.load("inputs.npz")["X"]
    outputs = np.load("outputs.npz")
    assert outputs.files == ["Z"]
    np.testing.assert_array_equal(outputs["Z"], -leaky(x))


def test_shapes_of_inputs_are_set(poprt: Run) -> None:
    onnx.save(leaky_model(shape=["n", 8]), "any.onnx")
    shown = poprt(
        *("--show", "--run", "--input_shape", "X=3,8", "--output_model", "fixed.onnx"),
        *("--custom_shape_inference", "custom_shape_inference.py"),
        model="any.onnx",
    )
    assert "input X: float32 (3, 8)" in shown and "output Z: float32 (3, 8)" in shown and "Bs: 3\n" in shown
    fixed = onnx.load("fixed.onnx").graph
    assert [dim.dim_value for dim in fixed.output[0].type.tensor_type.shape.dim] == [3, 8]
    assert [value.name for value in fixed.value_info] == ["Y"]


def test_float16(poprt: Run) -> None:
    onnx.save(leaky_model(), "leaky.onnx")
    x = np.linspace(-4, 4, 64, dtype="float16").reshape(8, 8)
    np.savez("half.npz", X=x)
    shown = poprt(
        *("--precision", "fp16", "--show", "--run", "--input_data", "half.npz", "--save_outputs", "outputs.npz"),
        *("--custom_shape_inference", "custom_shape_inference.py", "--output_dir", "."),
        model="leaky.onnx",
    )
    assert "input X: float16 (8, 8)\nai.graphcore::LeakyRelu Y: float16 (8, 8)\noutput Z: float16 (8, 8)" in shown
    np.testing.assert_allclose(np.load("outputs.npz")["Z"], -leaky(x), rtol=2e-3)
    assert onnx.load("leaky.onnx.optimized.onnx").graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT16


def test_the_opset_is_converted(poprt: Run) -> None:
    poprt("--convert_version", "17", "--output_model", "17.onnx", "--run")
    model = onnx.load("17.onnx")
    assert {each.domain: each.version for each in model.opset_import} == {"": 17, "ai.graphcore": 1}
    onnx.checker.check_model(model)


def test_what_an_ipu_would_do_is_ignored_with_a_warning(place: Path) -> None:
    arguments = ["--input_model", "custom_op_test.onnx", "--ipu_version", "ipu21", "--export_popef", "--show"]
    done = python("-m", "pykernels", "run", "-m", "poprt.cli", *arguments, cwd=place)
    assert done.returncode == 0
    assert done.stderr == "poprt: ignored, since there is no IPU: --ipu_version, --export_popef\n"


def test_random_data_is_the_same_in_every_run(poprt: Run) -> None:
    found = []
    for name in ("one.npz", "other.npz"):
        poprt("--run", "--save_outputs", name)
        found.append(np.load(name)["Z"])
    np.testing.assert_array_equal(*found)
    assert found[0].min() >= 0 and len(np.unique(found[0])) == 64


SCRIPT = """
import subprocess
print(subprocess.call(["poprt", "--input_model", "custom_op_test.onnx", "--show"]))
"""


@pytest.mark.thorough
def test_the_command_is_there_for_scripts(place: Path) -> None:
    types = "input X: float32 (8, 8)\nai.graphcore::LeakyRelu Y: of unknown type\noutput Z: float32 (8, 8)\n"
    (place / "script.py").write_text(SCRIPT)
    # A folder of the same name hides neither the command nor the package.
    (place / "poprt").mkdir()
    done = python("-m", "pykernels", "run", "script.py", cwd=place)
    assert (done.stdout, done.stderr) == (f"{types}0\n", "")
    done = python("-m", "pykernels", "run", "poprt", "--input_model", "custom_op_test.onnx", "--show", cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, types, "")


def test_the_command_of_another_stays(place: Path) -> None:
    (place / "bin").mkdir()
    (place / "bin" / "poprt").write_text("#!/bin/sh\necho another\n")
    (place / "bin" / "poprt").chmod(0o755)
    path = os.pathsep.join([str(place / "bin"), os.environ["PATH"]])
    done = python("-m", "pykernels", "run", "poprt", cwd=place, PATH=path)
    assert (done.returncode, done.stdout) == (0, "another\n")


def test_the_package_is_not_there_without_us(place: Path) -> None:
    done = python("-m", "poprt.cli", "--show", cwd=place)
    assert done.returncode == 1 and "No module named 'poprt'" in done.stderr


def test_tensors_without_axes_and_whole_numbers(poprt: Run) -> None:
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT64, [])]
    outputs = [onnx.helper.make_tensor_value_info("file", onnx.TensorProto.INT64, [])]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Neg", ["x"], ["file"])], "graph", inputs, outputs)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), "scalar.onnx")
    shown = poprt("--show", "--run", "--save_outputs", "outputs.npz", model="scalar.onnx", library="")
    assert shown.startswith("input x: int64 ()\noutput file: int64 ()\nBs: 1\n")
    assert np.load("outputs.npz")["file"].tolist() in (0, -1)
