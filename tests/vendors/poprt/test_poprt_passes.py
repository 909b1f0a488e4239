"""What PopRT's command line changes in a model: passes, those of the user's as well, and its inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from model_files import leaky_model
from onnx import TensorProto, helper, numpy_helper
from process import python

Run = Callable[..., str]
SHAPES = ("--custom_shape_inference", "custom_shape_inference.py")
CUSTOM = """
import onnx
from poprt.passes import Pass, register


@register("add_to_sub")
class AddToSub(Pass):
    \"\"\"Sub in place of Add.\"\"\"

    def __init__(self):
        super().__init__()

    def change(self, graph: onnx.GraphProto, is_main_graph: bool) -> onnx.GraphProto:
        for node in graph.node:
            if node.op_type == "Add":
                node.op_type = "Sub"
        return graph

    def run(self, model: onnx.ModelProto) -> onnx.ModelProto:
        model.graph.CopyFrom(self.traverse_graph(model.graph, self.change))
        return model
"""


@pytest.fixture
def folding(place: Path) -> onnx.ModelProto:
    """Z = LeakyRelu(Identity(X)) + (2 * 3), and something that nobody wants."""
    nodes = [
        helper.make_node("Identity", ["X"], ["A"]),
        helper.make_node("LeakyRelu", ["A"], ["Y"], domain="ai.graphcore", alpha=0.01),
        helper.make_node("Mul", ["two", "three"], ["six"]),
        helper.make_node("Add", ["Y", "six"], ["Z"]),
        helper.make_node("Neg", ["Y"], ["W"]),
    ]
    numbers = {"two": np.full((8, 8), 2, np.float32), "three": np.array(3, np.float32)}
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [8, 8]) for name in "XZW"]
    constants = [numpy_helper.from_array(array, name) for name, array in numbers.items()]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], constants)
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.graphcore", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    onnx.save(model, "folding.onnx")
    return model


def changed(poprt: Run, *arguments: str) -> onnx.GraphProto:
    poprt(*arguments, "--output_model", "out.onnx", "--run", model="folding.onnx")
    return onnx.load("out.onnx").graph


def op_types(graph: onnx.GraphProto) -> list[str]:
    return [node.op_type for node in graph.node]


@pytest.mark.usefixtures("folding")
def test_passes_are_applied_and_results_stay(poprt: Run) -> None:
    save = ("--run", "--save_outputs")
    poprt(*save, "before.npz", model="folding.onnx")
    graph = changed(poprt, "--passes", "constant_folding,eliminate_identity,eliminate_unused_initializer")
    assert op_types(graph) == ["LeakyRelu", "Add", "Neg"]
    assert [tensor.name for tensor in graph.initializer] == ["six"]
    poprt(*save, "after.npz", model="out.onnx")
    before, after = np.load("before.npz"), np.load("after.npz")
    for name in before.files:
        np.testing.assert_array_equal(before[name], after[name])


@pytest.mark.usefixtures("folding")
def test_passes_can_be_left_out_and_limited(poprt: Run) -> None:
    graph = changed(poprt, "--passes", "constant_folding,eliminate_identity", "--skip_passes", "constant_folding,none")
    assert op_types(graph) == ["LeakyRelu", "Mul", "Add", "Neg"]
    graph = changed(poprt, "--passes", "constant_folding", "--max_tensor_size", "255")
    assert "Mul" in op_types(graph)
    graph = changed(poprt, "--passes", "constant_folding", "--max_tensor_size", "256")
    assert "Mul" not in op_types(graph)
    shown = poprt("--passes", "model_overview", model="folding.onnx")
    assert shown == "Add: 1\nIdentity: 1\nLeakyRelu: 1\nMul: 1\nNeg: 1\n"


@pytest.mark.usefixtures("folding")
def test_outputs_are_added_and_removed(poprt: Run) -> None:
    graph = changed(poprt, "--remove_outputs", "Z", "--checkpoints", "A,Y", *SHAPES)
    assert op_types(graph) == ["Identity", "LeakyRelu", "Neg"]
    assert [value.name for value in graph.output] == ["W", "A", "Y"]
    poprt("--run", "--save_outputs", "outputs.npz", "--input_data", "inputs.npz", model="out.onnx")
    outputs = np.load("outputs.npz")
    np.testing.assert_array_equal(outputs["A"], np.load("inputs.npz")["X"])
    np.testing.assert_array_equal(outputs["W"], -outputs["Y"])


def test_passes_of_the_users(poprt: Run, folding: onnx.ModelProto, place: Path) -> None:
    Path("add_to_sub.py").write_text(CUSTOM)
    done = python(
        *("-m", "pykernels", "run", "-m", "poprt.cli", "--list_all_passes", "--custom_pass_config", "add_to_sub.py"),
        cwd=place,
    )
    assert done.returncode == 0 and {"add_to_sub", "constant_folding"} < set(done.stdout.split()), done.stderr
    graph = changed(poprt, "--passes", "add_to_sub", "--custom_pass_config", "add_to_sub.py")
    assert op_types(graph) == ["Identity", "LeakyRelu", "Mul", "Sub", "Neg"]


PYTHON = """
import onnx
import add_to_sub
import poprt

assert "add_to_sub" in poprt.get_registered_passes()
model = onnx.load("folding.onnx")
model = poprt.get_pass("add_to_sub")(model)
model = poprt.PassManager(["eliminate_identity", poprt.Pass.get_pass("constant_folding", max_tensor_size=1)]).run(model)
print([node.op_type for node in model.graph.node])
"""


@pytest.mark.usefixtures("folding")
def test_passes_in_python(place: Path) -> None:
    Path("add_to_sub.py").write_text(CUSTOM)
    Path("script.py").write_text(PYTHON)
    done = python("-m", "pykernels", "run", "script.py", cwd=place)
    assert (done.stdout, done.stderr) == ("['LeakyRelu', 'Mul', 'Sub', 'Neg']\n", "")


def test_the_size_of_a_batch(poprt: Run) -> None:
    onnx.save(leaky_model(shape=["n", 8]), "any.onnx")
    assert "input X: float32 (5, 8)" in poprt("--show", "--check", "--batch_size", "5", model="any.onnx")
    assert "input X: float32 (n, 5)" in poprt("--show", "--batch_size", "5", "--batch_axis", "-1", model="any.onnx")
    assert "Bs: 5\n" in poprt("--run", "--batch_size", "5", model="any.onnx")


def test_op_types_that_keep_float32(poprt: Run) -> None:
    onnx.save(leaky_model(), "leaky.onnx")
    half = ("--precision", "fp16", "--output_model", "half.onnx")
    poprt(*half, "--fp16_skip_op_types", "Neg", *SHAPES, model="leaky.onnx")
    model = onnx.load("half.onnx")
    casts = [node.attribute[0].i for node in model.graph.node if node.op_type == "Cast"]
    assert casts == [TensorProto.FLOAT, TensorProto.FLOAT16]


def test_several_shape_files(poprt: Run) -> None:
    text = Path("custom_shape_inference.py").read_text()
    Path("other.py").write_text(text.replace("LeakyRelu", "Other"))
    shown = poprt("--show", "--custom_shape_inference", "./other.py,custom_shape_inference.py")
    assert "LeakyRelu Y: float32 (8, 8)" in shown


def test_what_is_ignored_can_be_kept_quiet(place: Path) -> None:
    arguments = ["--input_model", "custom_op_test.onnx", "--perf_tuner", "--fp8_params", "F143,F143,-1,-1"]
    run = ("-m", "pykernels", "run", "-m", "poprt.cli", *arguments)
    done = python(*run, cwd=place)
    assert done.stderr == "poprt: ignored, since there is no IPU: --perf_tuner, --fp8_params\n"
    assert python(*run, "--logging_level", "ERROR", cwd=place).stderr == ""


BROKEN = {
    "raises": ("return model\n", "return model.no_such\n", "passes.py:21: pass add_to_sub raised AttributeError"),
    "returns nothing": ("return model\n", "pass\n", "pass add_to_sub returned NoneType; it must return the model"),
    "breaks": ('"Sub"', '"NoSuchOp"', "pass add_to_sub has broken the model: No Op registered for NoSuchOp"),
    "does not load": ("import onnx\n", "import no_such\n", "passes.py:2 cannot be loaded: ModuleNotFoundError"),
    "without run": ("def run(", "def ran(", "AddToSub does not define run(self, onnx_model)"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.usefixtures("folding")
def test_passes_that_are_wrong(poprt: Run, case: str) -> None:
    old, new, message = BROKEN[case]
    assert old in CUSTOM
    Path("passes.py").write_text(CUSTOM.replace(old, new))
    given = ("--passes", "add_to_sub", "--custom_pass_config", "passes.py", "--output_model", "out.onnx")
    assert message in poprt(*given, model="folding.onnx", code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--passes", "no_such"], "pass 'no_such' does not exist; the passes are constant_folding, "),
        (["--custom_pass_config", "no.py"], "no.py does not exist (--custom_pass_config)"),
        (["--remove_outputs", "V"], "--remove_outputs: the model has no output 'V'; its outputs are Z"),
        (["--remove_outputs", "Z"], "--remove_outputs: no output would be left"),
        (["--checkpoints", "Y"], "--checkpoints: the type of Y is not known; --custom_shape_inference can infer it"),
        (["--checkpoints", "V"], "--checkpoints: the model computes no tensor 'V'"),
        (["--batch_size", "2", "--batch_axis", "2"], "--batch_axis 2: input X has 2 axes"),
        (["--precision", "fp8"], "--precision fp8: there is no IPU, which could compute with it; use fp16 or fp32"),
    ],
    ids=str,
)
def test_wrong_options(poprt: Run, arguments: list[str], message: str) -> None:
    assert message in poprt("--run", *arguments, "--output_model", "out.onnx", code=2)


def test_a_model_with_an_inner_graph(poprt: Run, place: Path) -> None:
    def branch(name: str, op: str) -> Any:
        made = [helper.make_node(op, ["X", "X"], [name])]
        return helper.make_graph(made, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])])

    node = helper.make_node("If", ["C"], ["Z"], then_branch=branch("then", "Add"), else_branch=branch("else", "Mul"))
    inputs = [helper.make_tensor_value_info("C", TensorProto.BOOL, [])]
    inputs.append(helper.make_tensor_value_info("X", TensorProto.FLOAT, [2]))
    outputs = [helper.make_tensor_value_info("Z", TensorProto.FLOAT, [2])]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), "folding.onnx")
    Path("passes.py").write_text(CUSTOM)
    given = ("--passes", "add_to_sub,constant_folding,eliminate_deadend", "--custom_pass_config", "passes.py")
    poprt(*given, "--output_model", "out.onnx", model="folding.onnx", library="")
    (found,) = onnx.load("out.onnx").graph.node
    assert [[each.op_type for each in attribute.g.node] for attribute in found.attribute] in (
        [["Sub"], ["Mul"]],
        [["Mul"], ["Sub"]],
    )
