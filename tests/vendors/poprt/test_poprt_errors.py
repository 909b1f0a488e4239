"""Wrong input to PopRT's command line: one line that says what, exit code 2, and no file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from model_files import guide_model
from process import python
from shape_files import NEW

Run = Callable[..., str]
SHAPES = ("--custom_shape_inference", "custom_shape_inference.py")
OUTPUTS = ("--output_model", "converted.onnx", "--save_outputs", "outputs.npz")


def test_no_model(poprt: Run) -> None:
    assert poprt("--run", model="no.onnx", code=2) == "poprt: no.onnx does not exist (--input_model) [PK100]\n"


@pytest.mark.parametrize("content", [b"", b"\x00garbage", None], ids=["empty", "garbage", "cut off"])
def test_a_broken_model(poprt: Run, content: bytes | None) -> None:
    whole = guide_model().SerializeToString()
    Path("broken.onnx").write_bytes(whole[: len(whole) // 2] if content is None else content)
    error = poprt("--run", *OUTPUTS, model="broken.onnx", code=2)
    assert error.startswith(("poprt: broken.onnx is not an ONNX model: ", "poprt: broken.onnx is a broken model: "))


def test_a_model_that_contradicts_itself(poprt: Run) -> None:
    model = guide_model()
    model.graph.node[1].input[0] = "W"
    onnx.save(model, "odd.onnx")
    error = poprt("--run", model="odd.onnx", code=2)
    assert error.startswith("poprt: odd.onnx is a broken model: Nodes in a graph must be topologically sorted")


def test_a_model_newer_than_onnx(poprt: Run) -> None:
    model = guide_model()
    model.ir_version = 999
    onnx.save(model, "new.onnx")
    error = poprt("--run", model="new.onnx", code=2)
    assert error.startswith("poprt: new.onnx has IR version 999; the installed onnx ")


def test_a_model_newer_than_the_runtime(poprt: Run) -> None:
    onnx.save(guide_model(opset=999), "new.onnx")
    error = poprt("--run", *OUTPUTS, model="new.onnx", code=2)
    assert "refuses the model: ONNX Runtime only *guarantees* support for models stamped with official" in error
    assert "Opset 999 is under development" in error


def test_libraries(poprt: Run, place: Path) -> None:
    assert (
        poprt("--run", library="no.so", code=2) == "poprt: no.so does not exist (--custom_library_so_paths) [PK100]\n"
    )
    error = poprt("--run", library="custom_op_test.onnx", code=2)
    assert error.startswith("poprt: custom_op_test.onnx cannot be loaded: OSError: ") and "ELF" in error
    import _ctypes

    shutil.copy(_ctypes.__file__, "other.so")
    assert poprt("--run", library="other.so", code=2) == (
        "poprt: other.so has no symbol RegisterCustomOps, so it is not a library of custom ops for ONNX Runtime; "
        "python -m pykernels build --onnx makes one [PK100]\n"
    )


def test_a_library_that_aborts_a_process(poprt: Run) -> None:
    whole = Path("custom_ops.so").read_bytes()
    Path("cut.so").write_bytes(whole[: len(whole) // 3])
    assert poprt("--run", library="cut.so", code=2).startswith("poprt: cut.so cannot be loaded: ")


def test_an_op_that_is_not_there(poprt: Run) -> None:
    none = "poprt: the model has a node of ai.graphcore::LeakyRelu, an op that no library has; "
    assert poprt("--run", library="", code=2) == none + "name its library with --custom_library_so_paths [PK400]\n"
    onnx.save(guide_model(op="Softsign2"), "other.onnx")
    none = "poprt: the model has a node of ai.graphcore::Softsign2, an op that no library has; "
    assert poprt("--run", *OUTPUTS, model="other.onnx", code=2) == none + "the libraries are custom_ops.so [PK400]\n"


def test_an_attribute_of_the_wrong_type(poprt: Run) -> None:
    onnx.save(guide_model(alpha="steep"), "odd.onnx")
    error = poprt("--run", *OUTPUTS, model="odd.onnx", code=2)
    assert (
        "op 'LeakyRelu': attribute 'alpha' must be a number in the range of float32 such as 0.1, got 'steep'" in error
    )


SHAPE_ERRORS = {
    "raises": ("return model, False", "{}['x']", "shapes.py:", "the shape function of LeakyRelu raised KeyError: 'x'"),
    "returns nothing": ("return onnx.", "onnx.", "the shape function of LeakyRelu returned NoneType; it must return"),
    "tells that it knows": (
        "model = self.update_value_info(",
        "(lambda *_: None)(",
        "returned True, but the type and shape of Y are not known",
    ),
    "wrong shape": ("dtype, shape))", "dtype, [8, 9]))", "it says that Y is float32 (8, 9), but"),
    "wrong dtype": ("(y, dtype,", "(y, 11,", "it says that Y is float64 (8, 8), but it is float32"),
    "does not load": ("import onnx\n", "import onnx\nimport no_such\n", "shapes.py:3 cannot be loaded: ModuleNotFound"),
    "no Python": ("import onnx\n", "import onnx\nx = = 1\n", "shapes.py:3 cannot be loaded: SyntaxError: invalid"),
    "without a call": ("def __call__", "def call", "LeakyReluShape does not define __call__"),
}


@pytest.mark.parametrize("case", SHAPE_ERRORS)
def test_shape_functions(poprt: Run, case: str) -> None:
    old, new, *messages = SHAPE_ERRORS[case]
    text = NEW.replace("if not (shape and dtype) or 0 in shape:", "if True:") if case == "raises" else NEW
    changed = text.replace(old, new)
    assert changed != NEW
    Path("shapes.py").write_text(changed)
    error = poprt("--run", *OUTPUTS, "--custom_shape_inference", "shapes.py", code=2)
    for message in messages:
        assert message in error


def test_a_shape_function_that_no_inference_can_contradict(poprt: Run) -> None:
    Path("shapes.py").write_text(NEW.replace("dtype, shape))", "dtype, [8, 9]))"))
    model = guide_model()
    for dim in model.graph.output[0].type.tensor_type.shape.dim:
        dim.Clear()
    onnx.save(model, "open.onnx")
    error = poprt("--run", *OUTPUTS, "--custom_shape_inference", "shapes.py", model="open.onnx", code=2)
    assert error == (
        "poprt: a shape function or the model is wrong: it says that Y is float32 (8, 9), but it is float32 (8, 8) "
        "[PK200]\n"
    )


def test_no_shape_file(poprt: Run) -> None:
    error = poprt("--run", "--custom_shape_inference", "no.py", code=2)
    assert error == "poprt: no.py does not exist (--custom_shape_inference) [PK100]\n"


X = np.zeros((8, 8), np.float32)
DATA_ERRORS = {
    "missing": ({}, "data.npz has no array 'X'; the inputs of the model are X"),
    "more": ({"X": X, "W": X}, "data.npz has an array 'W', which is not an input; the inputs of the model are X"),
    "dtype": ({"X": X.astype("float64")}, "data.npz: X is float64, but the model takes float32"),
    "shape": ({"X": X[:4]}, "data.npz: X has the shape (4, 8), but the model takes (8, 8)"),
    "axes": ({"X": X[0]}, "data.npz: X has the shape (8,), but the model takes (8, 8)"),
    "objects": ({"X": np.array([{}])}, "data.npz cannot be read as an .npz file of NumPy: Object arrays cannot be"),
}


@pytest.mark.parametrize("case", DATA_ERRORS)
def test_data_that_does_not_fit(poprt: Run, case: str) -> None:
    given, message = DATA_ERRORS[case]
    np.savez("data.npz", **given)
    assert poprt("--run", *OUTPUTS, "--input_data", "data.npz", code=2).startswith(f"poprt: {message}")


def test_data_that_cannot_be_read(poprt: Run) -> None:
    assert "no.npz does not exist (--input_data)" in poprt("--run", "--input_data", "no.npz", code=2)
    Path("text.npz").write_text("no archive")
    assert "text.npz cannot be read as an .npz file" in poprt("--run", "--input_data", "text.npz", code=2)
    whole = Path("inputs.npz").read_bytes()
    Path("cut.npz").write_bytes(whole[: len(whole) // 2])
    assert "cut.npz cannot be read as an .npz file" in poprt("--run", "--input_data", "cut.npz", code=2)
    np.save("array.npy", X)
    assert "array.npy holds one array" in poprt("--run", "--input_data", "array.npy", code=2)


def test_outputs_that_cannot_be_written(poprt: Run) -> None:
    Path("folder").mkdir()
    error = poprt("--run", "--save_outputs", "folder", "--output_model", "converted.onnx", code=2)
    assert error == "poprt: folder cannot be written: it is a directory [PK500]\n"
    error = poprt("--output_dir", "absent", "--output_model", "converted.onnx", code=2)
    assert error == "poprt: absent/converted.onnx cannot be written: No such file or directory [PK500]\n"
    os.mkfifo("pipe")
    error = poprt("--run", "--save_outputs", "pipe", "--output_model", "converted.onnx", code=2)
    assert error == "poprt: pipe cannot be written: it is not a regular file [PK500]\n"
    error = poprt("--run", "--save_outputs", "out", "--output_model", "out", "--output_dir", ".", code=2)
    assert error == "poprt: out cannot be both the converted model and the outputs (--save_outputs) [PK400]\n"


def test_shapes_of_inputs(poprt: Run) -> None:
    assert "the model has no input 'W'; its inputs are X" in poprt("--input_shape", "W=1", code=2)
    assert "input X has 2 axes, not 3" in poprt("--input_shape", "X=1,2,3", code=2)
    onnx.save(guide_model(shape=["n", 8]), "any.onnx")
    error = poprt("--run", *OUTPUTS, model="any.onnx", code=2)
    assert error == (
        "poprt: input X has the shape (n, 8); give its sizes with --input_shape X=..., or its data with "
        "--input_data [PK400]\n"
    )


def test_an_opset_that_is_not_there(poprt: Run) -> None:
    assert poprt("--convert_version", "999", code=2).startswith(
        "poprt: --convert_version 999: the model cannot be converted: "
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input_shape", "X"], "'X' is not an input and its shape, such as input_ids=1,512"),
        (["--input_shape", "X=a"], "'X=a' is not an input and its shape"),
        (["--precision", "int8"], "invalid choice: 'int8'"),
        (["--batch_size", "0"], "--batch_size must be 1 or more"),
        (["--framework", "tensorflow"], "invalid choice: 'tensorflow'"),
        (["--fast"], "unrecognized arguments: --fast"),
        (["--input_data", "inputs.npz"], "--input_data and --save_outputs need --run"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_options(poprt: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as caught:
        poprt(*arguments)
    assert caught.value.code == 2 and message in capsys.readouterr().err


def test_the_traceback_is_shown_if_wanted(place: Path) -> None:
    arguments = ["-m", "pykernels", "run", "-m", "poprt.cli", "--input_model", "no.onnx"]
    done = python(*arguments, cwd=place)
    assert (done.returncode, done.stderr) == (2, "poprt: no.onnx does not exist (--input_model) [PK100]\n")
    done = python(*arguments, "-v", cwd=place)
    assert done.returncode == 2 and done.stderr.startswith("Traceback (most recent call last):\n")
    assert done.stderr.endswith("\npoprt: no.onnx does not exist (--input_model) [PK100]\n")


def test_what_nobody_has_foreseen(poprt: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pykernels.vendors.poprt.cli._show", None)
    assert poprt("--show", "--output_dir", ".", code=2) == "poprt: TypeError: 'NoneType' object is not callable\n"


def test_outputs_that_numpy_cannot_write(poprt: Run) -> None:
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2])]
    nodes = [onnx.helper.make_node("SequenceConstruct", ["x"], ["y"])]
    outputs = [onnx.helper.make_tensor_sequence_value_info("y", onnx.TensorProto.FLOAT, [2])]
    graph = onnx.helper.make_graph(nodes, "graph", inputs, outputs)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), "list.onnx")
    error = poprt("--run", *OUTPUTS, model="list.onnx", library="", code=2)
    assert error == "poprt: --save_outputs: output y is not a tensor of numbers [PK400]\n"
