"""Auxiliary states: inputs that a kernel changes in place, as MXNet keeps them."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest


def test_a_state_changes_in_training_only(native: Any) -> None:
    x, state = mx.nd.array([1.0, 2.0]), mx.nd.zeros(2)
    x.attach_grad()
    for _ in range(3):
        with mx.autograd.record():
            y = native.nd("state", x, state)
        y.backward(mx.nd.array([3.0, 4.0]))
    np.testing.assert_array_equal(y.asnumpy(), [3, 6])
    np.testing.assert_array_equal(state.asnumpy(), [3, 6])
    np.testing.assert_array_equal(x.grad.asnumpy(), [3, 4])
    np.testing.assert_array_equal(native.nd("state", x, state).asnumpy(), [4, 8])
    np.testing.assert_array_equal(state.asnumpy(), [3, 6])


def test_the_order_of_calls_is_kept(native: Any) -> None:
    x, state = mx.nd.ones(4), mx.nd.zeros(4)
    with mx.autograd.train_mode():
        results = [native.nd("state", x, state) for _ in range(200)]
    np.testing.assert_array_equal([y.asnumpy()[0] for y in results], np.arange(1, 201))


def test_a_graph_keeps_them_apart_from_arguments(native: Any) -> None:
    graph = native.sym("state", mx.sym.var("x"), name="s")
    assert graph.list_arguments() == ["x"]
    assert graph.list_auxiliary_states() == ["s_state"]
    executor = mx.sym.load_json(graph.tojson()).simple_bind(mx.cpu(), x=(2,))
    for expected in ([1, 2], [2, 4]):
        (y,) = executor.forward(is_train=True, x=mx.nd.array([1.0, 2.0]))
        np.testing.assert_array_equal(y.asnumpy(), expected)
    executor.backward(mx.nd.array([5.0, 6.0]))
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [5, 6])
    np.testing.assert_array_equal(executor.aux_dict["s_state"].asnumpy(), [2, 4])
    (y,) = executor.forward(is_train=False)
    np.testing.assert_array_equal(executor.aux_dict["s_state"].asnumpy(), [2, 4])


@pytest.mark.parametrize("mode", [None, {}, {"static_alloc": True, "static_shape": True}])
def test_a_block_keeps_them_as_parameters_without_gradient(native: Any, mode: dict[str, bool] | None) -> None:
    class Layer(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.state = self.params.get("state", shape=(2,), init="zeros", grad_req="null", differentiable=False)

        def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
            return F.Custom(x * 1, state, op_type=native._public("state"))

    layer = Layer()
    layer.initialize()
    if mode is not None:
        layer.hybridize(**mode)
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    for expected in ([1, 2], [2, 4], [3, 6]):
        with mx.autograd.record():
            y = layer(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), expected)
        np.testing.assert_array_equal(x.grad.asnumpy(), [1, 1])
    np.testing.assert_array_equal(layer.state.data().asnumpy(), [3, 6])
    np.testing.assert_array_equal(layer(x).asnumpy(), [4, 8])


def test_a_sparse_state_is_refused(native: Any) -> None:
    with pytest.raises(mx.MXNetError, match="'state' is a row_sparse array"):
        native.nd("state", mx.nd.ones((2, 2)), mx.nd.sparse.zeros("row_sparse", (2, 2)))
