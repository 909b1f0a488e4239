"""Ops in PopART's C++ by their numbers, as graphs in PopXL's terms use them: types, gradients, nodes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from pykernels.base.errors import LoadError
from pykernels.vendors.popart import loading, ops
from pykernels.vendors.popart.ops import TensorType

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

FLOAT, HALF = 1, 10
Make = Callable[[float], int]


@pytest.fixture
def make_product(cpp_libraries: dict[str, Path]) -> Make:
    loading.popart()
    function = ctypes.CDLL(str(cpp_libraries["gradients"])).make_product
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_int64
    made: Make = function
    return made


def test_what_an_op_gives(make_product: Make) -> None:
    op = make_product(0.5)
    found = ops.infer(op, [TensorType(HALF, (3, 1)), TensorType(HALF, (4,)), None])
    assert (found.domain, found.op_type) == ("test", "Product")
    assert found.outputs == (TensorType(HALF, (3, 4)),)
    # It can be asked again.
    assert ops.infer(op, [TensorType(FLOAT, ())] * 2).outputs == (TensorType(FLOAT, ()),)


def test_gradients_run_in_a_session(make_product: Make) -> None:
    op = make_product(0.5)
    tensor = TensorType(FLOAT, (2, 3))
    ops.infer(op, [tensor, tensor, tensor])
    (gradient,) = ops.gradients(op)
    assert gradient.inputs == {0: ("GradOut", 0), 1: ("In", 0), 2: ("In", 1), 3: ("Out", 0)}
    assert gradient.outputs == {0: 0, 1: 1}
    found = ops.infer(gradient.op, [tensor] * 4)
    assert (found.domain, found.op_type, found.outputs) == ("test", "ProductGrad", (tensor, tensor))

    nodes = [
        helper.make_node("Product", ["x", "y", "b"], ["z"], domain="test", **{ops.ATTRIBUTE: op}),
        helper.make_node(
            "ProductGrad", ["dz", "x", "y", "z"], ["dx", "dy"], domain="test", **{ops.ATTRIBUTE: gradient.op}
        ),
    ]
    values = {
        name: helper.make_tensor_value_info(name, FLOAT, (2, 3)) for name in ("x", "y", "b", "dz", "z", "dx", "dy")
    }
    graph = helper.make_graph(nodes, "graph", list(values.values())[:4], list(values.values())[4:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("test", 1)]
    options = onnxruntime.SessionOptions()
    ops.register(options, [op, gradient.op])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    x, y, b, dz = np.random.default_rng(0).normal(size=(4, 2, 3)).astype("float32")
    expected = [0.5 * x * y + b, 0.5 * dz * y, 0.5 * dz * x]

    def run(_: int) -> list[np.ndarray]:
        return list(session.run(None, {"x": x, "y": y, "b": b, "dz": dz}))

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(run, range(200)):
            for one, other in zip(found, expected):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_errors_of_ops_by_number(make_product: Make) -> None:
    with pytest.raises(LoadError, match="this process has no op 12345"):
        ops.infer(12345, [])
    op = make_product(-1)
    with pytest.raises(LoadError, match=r"test.Product:1: .*shapes \(2,\) and \(3,\) cannot be broadcast"):
        ops.infer(op, [TensorType(FLOAT, (2,)), TensorType(FLOAT, (3,))])
    with pytest.raises(LoadError, match=r"test.Product:1: .*float32 \(2,\) and float16 \(2,\), which have to be"):
        ops.infer(op, [TensorType(FLOAT, (2,)), TensorType(HALF, (2,))])
    with pytest.raises(LoadError, match="test.Product:1: tensor 1 does not exist; the number of tensors is 1"):
        ops.infer(op, [TensorType(FLOAT, (2,))])
    with pytest.raises(LoadError, match="test.Product:1: PopART has no type for ONNX's type 99"):
        ops.infer(op, [TensorType(99, (2,))] * 2)
    ops.infer(op, [TensorType(FLOAT, (2,))] * 2)
    with pytest.raises(LoadError, match="test.Product:1: no gradient for -1"):
        ops.gradients(op)
    with pytest.raises(LoadError, match="this process has no op 777"):
        ops.register(onnxruntime.SessionOptions(), [777])
