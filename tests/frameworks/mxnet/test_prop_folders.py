"""Ops whose definition is a `CustomOpProp`, as MXNet's own custom operators have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from folders import write_op

import pykernels

NAME = "picked_dense"
DEFINITION = """
    import numpy as np
    import pykernels


    class PickedDense(pykernels.CustomOpProp):
        def __init__(self, units: int, scale: float = 1.0):
            super().__init__()
            self.units = units

        def list_arguments(self):
            return ["data", "weight", "index"]

        def infer_shape(self, in_shape):
            rows, columns = in_shape[0]
            return [in_shape[0], [self.units, columns], [rows]], [[rows]]

        def infer_type(self, in_type):
            return [in_type[0], in_type[0], np.dtype("int32")], [in_type[0]]
"""
KERNEL = """
    import numpy as np


    def forward(args, *, scale):
        data, weight, index = args
        y = np.zeros(len(index), data.dtype)
        for row, unit in enumerate(index):
            y[row] = scale * (data[row] * weight[unit]).sum()
        return y


    def backward(args, *, scale):
        dy, data, weight, index, y = args
        ddata, dweight = np.zeros_like(data), np.zeros_like(weight)
        for row, unit in enumerate(index):
            ddata[row] = scale * dy[row] * weight[unit]
            dweight[unit] += scale * dy[row] * data[row]
        return ddata, dweight, np.zeros_like(index)
"""


@pytest.fixture(scope="module", autouse=True)
def op(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    pykernels.load_ops(write_op(tmp_path_factory.mktemp("ops"), NAME, KERNEL, DEFINITION))
    yield
    pykernels.unload_ops(NAME)


def test_values_and_gradients() -> None:
    data, weight = mx.nd.random.normal(shape=(4, 3)), mx.nd.random.normal(shape=(2, 3))
    index = mx.nd.array([1, 0, 1, 1], dtype="int32")
    results = []
    for function in (
        lambda: mx.nd.Custom(data, weight, index, op_type=NAME, units=2, scale=0.5),
        lambda: mx.nd.pick(mx.nd.dot(data, weight, transpose_b=True) * 0.5, index),
    ):
        data.attach_grad()
        weight.attach_grad()
        with mx.autograd.record():
            y = function()
        y.backward(mx.nd.array([1.0, 2.0, 3.0, 4.0]))
        results.append([y.asnumpy(), data.grad.asnumpy(), weight.grad.asnumpy()])
    for ours, theirs in zip(*results):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_inputs_are_completed() -> None:
    symbol = mx.sym.Custom(mx.sym.var("data"), op_type=NAME, units=5, name="p")
    assert symbol.list_arguments() == ["data", "p_weight", "p_index"]
    assert symbol.infer_shape(data=(4, 3)) == ([(4, 3), (5, 3), (4,)], [(4,)], [])
    assert symbol.infer_type(data="float64") == ([np.float64, np.float64, np.int32], [np.float64], [])


def test_deferred_initialization() -> None:
    class Net(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = self.params.get("weight", shape=(6, 0), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, data: Any, index: Any, weight: Any) -> Any:
            return F.Custom(data, weight, index, op_type=NAME, units=6)

    net = Net()
    net.initialize()
    net.hybridize()
    assert net(mx.nd.ones((4, 3)), mx.nd.zeros(4, dtype="int32")).shape == (4,)
    assert net.weight.shape == (6, 3)


def test_a_shape_that_is_partly_known_and_wrong() -> None:
    symbol = mx.sym.Custom(mx.sym.var("data"), op_type=NAME, units=5, name="p")
    with pytest.raises(mx.MXNetError, match=r"weight: \(7, \?\), .*'weight' has to be \(5, 3\)"):
        symbol.infer_shape(data=(4, 3), p_weight=(7, 0))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [(4, 3), (2, 9), (4,)],
            r"'picked_dense' for data: \(4, 3\), .*'weight' has shape \(2, 9\), .* wants \(2, 3\)",
        ),
        ([(4, 3, 1), (2, 3), (4,)], r"'picked_dense' for data: \(4, 3, 1\), .*picked_dense_py_def.py:15: ValueError"),
    ],
)
def test_wrong_shapes(shapes: list[tuple[int, ...]], message: str) -> None:
    arrays = [mx.nd.ones(shape) for shape in shapes]
    with pytest.raises(mx.MXNetError, match=message):
        mx.nd.Custom(*arrays[:2], arrays[2].astype("int32"), op_type=NAME, units=2)


def test_wrong_dtypes() -> None:
    message = r"'picked_dense' for .*index: float32 \(4,\): .*'index' has dtype float32, .* wants int32"
    with pytest.raises(mx.MXNetError, match=message):
        mx.nd.Custom(mx.nd.ones((4, 3)), mx.nd.ones((2, 3)), mx.nd.ones(4), op_type=NAME, units=2)


SOFTMAX = """
    import pykernels


    class Softmax(pykernels.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "label"]

        def infer_shape(self, in_shape):
            return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return [in_data[1], out_data[0]]

        def list_gradients(self):
            return ["data"]
"""
SOFTMAX_KERNEL = """
    import numpy as np


    def forward(args):
        data, label = args
        e = np.exp(data)
        return e / e.sum(axis=1).reshape((-1, 1))


    def backward(args):
        label, y = args
        dx = y.copy()
        for i in range(len(label)):
            dx[i, int(label[i])] -= 1
        return dx
"""


def test_a_gradient_that_does_not_depend_on_an_input(load: Any) -> None:
    """It is MXNet's example of a loss: the gradient of the data is computed from the labels and the output."""
    name = load(SOFTMAX_KERNEL, definition=SOFTMAX)
    data, label = mx.nd.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]]), mx.nd.array([0.0, 2.0])
    data.attach_grad()
    label.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(data, label, op_type=name)
    y.backward()
    np.testing.assert_allclose(data.grad.asnumpy(), y.asnumpy() - [[1, 0, 0], [0, 0, 1]], rtol=1e-6)
    np.testing.assert_array_equal(label.grad.asnumpy(), [0, 0])
    executor = mx.sym.Custom(mx.sym.var("x"), mx.sym.var("label"), op_type=name).simple_bind(mx.cpu(), x=(2, 3))
    executor.forward(is_train=True, x=data, label=label)
    executor.backward(mx.nd.ones((2, 3)))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), data.grad.asnumpy(), rtol=1e-6)


def test_an_op_that_has_no_gradient(load: Any) -> None:
    definition = """
        import pykernels


        class Last(pykernels.CustomOpProp):
            def infer_shape(self, in_shape):
                return in_shape, [[2]]

            def list_gradients(self):
                return []
    """
    name = load("def forward(args):\n    return args[0][-2:]\n", definition=definition)
    x = mx.nd.array([1.0, 5.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name) * 2 + x[:2]
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [11, 9])
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, 1, 0])
