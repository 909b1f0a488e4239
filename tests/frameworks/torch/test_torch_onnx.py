"""PyTorch's models with our operators, exported to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from every_op import GIVEN, in_pytorchs_words, write_every_op
from process import program
from shipped import ONE_EACH, function_of, tensors_of

import pykernels
import pykernels.onnx
from pykernels.base import paths
from pykernels.base.errors import BuildError, PykernelsWarning

pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")


class Function(torch.nn.Module):
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *tensors: Any) -> Any:
        return self.function(*tensors)


def export(function: Callable[..., Any], args: Sequence[Any], path: Path, **options: Any) -> onnx.ModelProto:
    pykernels.onnx.export_torch(Function(function).eval(), tuple(args), path, **options)
    return onnx.load(path)


def run(path: Path, tensors: Sequence[torch.Tensor]) -> list[np.ndarray]:
    session = pykernels.onnx.session(path)
    given = zip(session.get_inputs(), tensors, strict=True)
    return list(session.run(None, {value.name: tensor.detach().numpy() for value, tensor in given}))


@pytest.fixture(scope="module")
def shipped() -> Iterator[Any]:
    pykernels.load_ops(paths.OPS)
    yield torch.ops.pykernels


def test_shipped_ops_give_the_same_in_onnx_runtime(shipped: Any, tmp_path: Path) -> None:
    given = [tensors_of(case, "float32", grad=False) for case in ONE_EACH]

    def function(*tensors: Any) -> list[Any]:
        rest = iter(tensors)
        calls = [(function_of(shipped, case), [next(rest) for _ in case.shapes]) for case in ONE_EACH]
        return [result for call, own in calls for result in call(*own)]

    inputs = [tensor for tensors in given for tensor in tensors]
    model = export(function, inputs, tmp_path / "model.onnx")
    nodes = {node.op_type: node for node in model.graph.node}
    for case in ONE_EACH:
        assert nodes[case.op].domain == "pykernels"
        assert {attribute.name for attribute in nodes[case.op].attribute} <= set(case.attributes)
    for result, expected in zip(run(tmp_path / "model.onnx", inputs), function(*inputs), strict=True):
        np.testing.assert_array_equal(result, expected.numpy())


def test_functions_of_api_files(shipped: Any, tmp_path: Path) -> None:
    folders = pykernels.list_ops()
    x = torch.randn(4, 3)

    def function(x: Any) -> Any:
        return folders["dropout"].api.dropout(folders["softmax"].api.softmax(x, axis=0))

    model = export(function, [x], tmp_path / "model.onnx")
    assert [node.op_type for node in model.graph.node] == ["softmax", "dropout"]
    np.testing.assert_array_equal(run(tmp_path / "model.onnx", [x])[0], function(x)[0].numpy())


class Net(torch.nn.Module):
    """Layers of PyTorch and operators of ours, with a state."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.gamma, self.beta = torch.nn.Parameter(torch.rand(4)), torch.nn.Parameter(torch.rand(4))
        self.register_buffer("mean", torch.rand(4))
        self.register_buffer("var", torch.rand(4))

    def forward(self, x: Any, labels: Any) -> Any:
        ops = torch.ops.pykernels
        y = ops.leaky_relu(self.linear(x), alpha=0.3)
        y = ops.batch_norm(y, self.gamma, self.beta, self.mean, self.var, is_train=self.training)
        return ops.softmax_cross_entropy(y, labels)


@pytest.mark.parametrize("form", ["module", "program"])
def test_a_model_of_any_batch_size(shipped: Any, tmp_path: Path, form: str) -> None:
    net, path = Net().eval(), tmp_path / "net.onnx"
    given = (torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0]))
    batch = {0: "batch"}
    if form == "module":
        pykernels.onnx.export_torch(
            net, given[:1], path, kwargs={"labels": given[1]}, dynamic_shapes={"x": batch, "labels": batch}
        )
    else:
        dim = torch.export.Dim("batch")
        exported = torch.export.export(net, given, dynamic_shapes=({0: dim}, {0: dim}))
        pykernels.onnx.export_torch(exported, path=path, external_data=False)
    model = onnx.load(path, load_external_data=False)
    assert {each.domain: each.version for each in model.opset_import}["pykernels"] == 1
    assert [node.op_type for node in model.graph.node if node.domain] == [
        "leaky_relu",
        "batch_norm",
        "softmax_cross_entropy",
    ]
    if form == "module":
        assert [value.type.tensor_type.shape.dim[0].dim_param for value in model.graph.input] == ["batch"] * 2
    else:
        assert list(tmp_path.iterdir()) == [path]
    other = (torch.randn(2, 3), torch.tensor([3, 1]))
    for inputs in (given, other):
        for result, expected in zip(run(path, inputs), net(*inputs), strict=True):
            np.testing.assert_allclose(result, expected.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_names_that_folders_choose(tmp_path: Path) -> None:
    (tmp_path / "ops").mkdir()
    done = program("from pykernels.tools.cli import main; main(['new', 'parabola', '--path', 'ops'])", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "ops/parabola/parabola_py_api.py").open("a") as file:
        file.write('\nonnx_domain = "ai.graphcore"\nonnx_op_type = "Parabola"\n')
    pykernels.load_ops(tmp_path / "ops")
    try:
        x = torch.randn(3, requires_grad=True)
        model = export(lambda x: pykernels.list_ops()["parabola"].api.parabola(x, scale=3.0), [x], tmp_path / "p.onnx")
        assert [(node.domain, node.op_type) for node in model.graph.node] == [("ai.graphcore", "Parabola")]
        np.testing.assert_allclose(run(tmp_path / "p.onnx", [x])[0], 3 * x.detach().numpy() ** 2, rtol=1e-6)
    finally:
        pykernels.unload_ops("parabola")


OPTIONAL_FIRST = {
    '.InputWithMinimum("xs", 1).OptionalInput("bias")': '.OptionalInput("bias").InputWithMinimum("xs", 1)',
    "x, xs, *rest = args": "x, bias, xs = args",
    "bias = rest[0] if rest and rest[0] is not None else 0": "bias = 0 if bias is None else bias",
}


@pytest.fixture(scope="module")
def sundry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The op `every` with the optional input before the repeated one; else ONNX could not tell them apart."""
    parent = tmp_path_factory.mktemp("sundry")
    (parent / "sundry").mkdir()
    for file in write_every_op(parent).iterdir():
        text = file.read_text()
        for old, new in {**OPTIONAL_FIRST, "every": "sundry"}.items():
            text = text.replace(old, new)
        (parent / "sundry" / file.name.replace("every", "sundry")).write_text(text)
    pykernels.load_ops(parent / "sundry")
    yield torch.ops.pykernels.sundry
    pykernels.unload_ops("sundry")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("given", [{}, GIVEN], ids=["defaults", "others"])
def test_attributes_of_every_type(sundry: Any, tmp_path: Path, given: dict[str, Any]) -> None:
    x = torch.randn(3)
    words = {name: in_pytorchs_words(name, value) for name, value in given.items()}

    def function(x: Any) -> Any:
        return sundry(x, None, [x], **words)[0]

    model = export(function, [x], tmp_path / "model.onnx")
    assert {attribute.name for attribute in model.graph.node[0].attribute} == set(given)
    np.testing.assert_array_equal(run(tmp_path / "model.onnx", [x])[0], function(x).numpy())


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("has_bias", [False, True])
def test_repeated_and_optional_arguments(sundry: Any, tmp_path: Path, has_bias: bool) -> None:
    tensors = [torch.randn(4), torch.randn(1), torch.randn(2), torch.randn(4)][: 3 + has_bias]

    def function(x: Any, first: Any, second: Any, bias: Any = None) -> Any:
        y, each = sundry(x, bias, [first, second], each_count=2)
        return y, each[1], each[0]

    export(function, tensors, tmp_path / "model.onnx")
    for result, expected in zip(run(tmp_path / "model.onnx", tensors), function(*tensors), strict=True):
        np.testing.assert_array_equal(result, expected.numpy())


# ---- what cannot be exported


def test_a_model_in_training_mode(shipped: Any, tmp_path: Path) -> None:
    given = (torch.randn(5, 3), torch.tensor([0, 1, 2, 3, 0]))
    with (
        pytest.warns(PykernelsWarning, match="is exported in training mode"),
        pytest.raises(torch.onnx.OnnxExporterError) as caught,
    ):
        pykernels.onnx.export_torch(Net().train(), given, tmp_path / "net.onnx")
    assert "op 'batch_norm_forward' is called as part of training, which ONNX Runtime does not do" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(shipped: Any, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="missing/y.onnx cannot be written: No such file or directory"):
        export(shipped.relu, [torch.ones(2)], tmp_path / "missing" / "y.onnx")


@pytest.mark.thorough
def test_arguments_that_nodes_cannot_distinguish(tmp_path: Path) -> None:
    pykernels.load_ops(write_every_op(tmp_path))
    try:
        with pytest.raises(
            torch.onnx.OnnxExporterError, match="op every_forward: its inputs can be read in several ways"
        ):
            export(lambda x: torch.ops.pykernels.every(x, [x])[0], [torch.ones(2)], tmp_path / "y.onnx")
    finally:
        pykernels.unload_ops("every")
    assert not (tmp_path / "y.onnx").exists()
