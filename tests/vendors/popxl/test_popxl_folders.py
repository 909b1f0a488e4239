"""Op folders in PopXL's graphs: their functions called on tensors, with the gradients of their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from popxl_runs import gradients, numerical_gradients, run

import pykernels
import pykernels.vendors.popxl as popxl
from pykernels.base import paths
from pykernels.vendors.popxl import ops
from pykernels.vendors.popxl.transforms import autodiff

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

X = np.array([[-1.5, -0.25, 0.75], [0.5, 1.25, 2.5]], "float32")
Y = np.array([[0.5, -2.0, 1.5], [3.0, 0.25, -0.75]], "float32")
ROW = np.array([0.5, -1.0, 2.0], "float32")


@pytest.fixture(scope="module")
def shipped() -> Iterator[Any]:
    loaded = pykernels.load_ops(paths.OPS)
    yield loaded
    pykernels.unload_ops(*loaded)


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "leaky_relu": (lambda api, x: api.leaky_relu(x, alpha=0.2), (X,)),
    "sigmoid": (lambda api, x: api.sigmoid(x), (X,)),
    "tanh": (lambda api, x: api.tanh(x), (X,)),
    "softmax": (lambda api, x: api.softmax(x), (X,)),
    "dense": (lambda api, x, w: api.dense(x, w), (X, Y)),
    "layer_norm": (lambda api, x, w, b: api.layer_norm(x, w, b), (X, ROW, ROW)),
    "smooth_l1": (lambda api, x: api.smooth_l1(x), (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_shipped_ops_and_their_gradients(name: str, shipped: Any) -> None:
    function, arrays = CASES[name]
    api = shipped[name.split()[0]].api
    expected = function(api, *arrays)

    def op(*tensors: Any) -> Any:
        return function(api, *tensors)

    (found,) = run(op, *arrays)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    grads = [np.random.default_rng(0).normal(size=expected.shape).astype("float32")]
    for one, other in zip(gradients(op, arrays, grads), numerical_gradients(op, arrays, grads, 1e-2), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2)


def test_ops_of_folders_and_of_popxl_in_one_graph(shipped: Any) -> None:
    relu, sigmoid = shipped["leaky_relu"].api.leaky_relu, shipped["sigmoid"].api.sigmoid

    def function(x: Any) -> Any:
        return sigmoid(relu(x, 0.5) * 2) + relu(x)

    (found,) = run(function, X)
    np.testing.assert_allclose(found, sigmoid(relu(X, 0.5) * 2) + relu(X), rtol=1e-6)
    ones = [np.ones(X.shape, "float32")]
    (one,), (other,) = gradients(function, [X], ones), numerical_gradients(function, [X], ones, 1e-2)
    np.testing.assert_allclose(one, other, rtol=2e-2, atol=2e-2)


SUM_AND_PRODUCT = """
    def forward(args):
        x, y = args
        return x + y, x * y

    def backward(args):
        dsum, dproduct, x, y = args[:4]
        return dsum + dproduct * y, dsum + dproduct * x
"""
TWO_OUTPUTS = """
    import pykernels

    class Prop(pykernels.CustomOpProp):
        def list_arguments(self):
            return ["x", "y"]

        def list_outputs(self):
            return ["sum", "product"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], in_shape[0]], []
"""
FAILING = """
    def forward(args):
        (x,) = args
        if x[0] > 1:
            raise ValueError("too much")
        return x

    def backward(args):
        return args[0]
"""


def call(name: str, *tensors: Any, inputs: str = "data") -> list[Any]:
    builder = pykernels.user_op_builder("call").Op(f"{name}_forward")
    for each, tensor in zip(inputs.split(), tensors):
        builder.Input(each, [tensor])
    return list(builder.Build().InferAndTryRun().RemoteBlobList())


def test_several_inputs_and_outputs(load: Callable[..., str]) -> None:
    """And an output whose gradient is not there."""
    name = load(SUM_AND_PRODUCT, definition=TWO_OUTPUTS)

    def both(x: Any, y: Any) -> Any:
        return call(name, x, y, inputs="x y")

    def product(x: Any, y: Any) -> Any:
        return both(x, y)[1]

    total, times = run(both, X, Y)
    np.testing.assert_allclose(total, X + Y)
    np.testing.assert_allclose(times, X * Y)
    np.testing.assert_allclose(gradients(both, [X, Y], [X, X])[0], X + X * Y)
    np.testing.assert_allclose(gradients(product, [X, Y], [X])[1], X * X)


def test_the_definition_refuses_what_does_not_fit(shipped: Any) -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(np.zeros(3, "int32"))
        with pytest.raises(ValueError, match="op leaky_relu_forward: .*x must be floating point, but is int32"):
            shipped["leaky_relu"].api.leaky_relu(x)
        y = popxl.variable(np.zeros(3))
        with pytest.raises(ValueError, match="attribute 'alpha' of op leaky_relu_forward"):
            shipped["leaky_relu"].api.leaky_relu(y, alpha="much")
        with pytest.raises(
            ValueError, match="its inputs belong to different frameworks: numpy, pykernels.vendors.popxl"
        ):
            shipped["dense"].api.dense(y, np.zeros((3, 3)))
    with pytest.raises(RuntimeError, match="no graph has been chosen"):
        shipped["leaky_relu"].api.leaky_relu(y)


def test_ops_that_change_inputs_in_place_are_refused(shipped: Any) -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(np.zeros((2, 3)))
        row = popxl.variable(np.zeros(3))
        with pytest.raises(ValueError, match="it changes its input 'moving_mean' in place, which graphs do not allow"):
            shipped["batch_norm"].api.batch_norm(x, row, row, row, row)


def test_the_error_of_a_kernel_is_reported(load: Callable[..., str]) -> None:
    name = load(FAILING)
    ir = popxl.Ir()
    with ir.main_graph:
        stream = popxl.h2d_stream((2,), popxl.float32)
        (y,) = call(name, ops.host_load(stream))
        out = popxl.d2h_stream(y.shape, y.dtype)
        ops.host_store(out, y)
    with popxl.Session(ir) as session:
        assert session.run({stream: [1, 2]})[out].tolist() == [1, 2]
        with pytest.raises(ValueError, match="(?s)Session.run: .*too much"):
            session.run({stream: [2, 1]})
        assert session.run({stream: [1, 2]})[out].tolist() == [1, 2]


def test_an_op_without_gradient_is_named(shipped: Any) -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        first = autodiff(ir.create_graph(shipped["softmax"].api.softmax, popxl.variable(np.zeros(3))))
        second = autodiff(first.graph)
        with pytest.raises(ValueError, match=r"autodiff: softmax_backward_backward\(.* has no gradient"):
            autodiff(second.graph)
