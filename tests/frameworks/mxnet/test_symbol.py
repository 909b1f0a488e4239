"""Ops in symbolic graphs: inference, executors, Module, JSON."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest


def test_names_come_from_the_definition(native: Any) -> None:
    symbol = native.sym("pair", name="p")
    assert symbol.list_arguments() == ["p_a", "p_b"]
    assert symbol.list_outputs() == ["p_sum", "p_product"]
    assert native.sym("join", num_args=(2, 1), name="j").list_arguments() == ["j_x_0", "j_x_1", "j_bias"]


def test_shapes_and_dtypes_are_inferred(native: Any) -> None:
    symbol = native.sym("scale", mx.sym.var("x"))
    assert symbol.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])
    assert symbol.infer_type(x="float64") == ([np.float64], [np.float64], [])
    with pytest.warns(UserWarning, match="Cannot decide type"):
        assert symbol.infer_type() == (None, None, None)


def test_an_input_of_unknown_dtype_takes_that_of_the_first(native: Any) -> None:
    symbol = native.sym("pair", mx.sym.var("a"), mx.sym.var("b"))
    assert symbol.infer_type(a="float16") == ([np.float16] * 2, [np.float16] * 2, [])


def test_a_definition_may_complete_its_inputs(native: Any) -> None:
    symbol = native.sym("fill", mx.sym.var("x"), name="f")
    assert symbol.infer_shape(x=(4, 3)) == ([(4, 3), (3,)], [(4, 3)], [])
    # A dimension of 0 is one that MXNet does not know yet.
    assert symbol.infer_shape(x=(4, 3), f_w=(0,))[0] == [(4, 3), (3,)]
    with pytest.raises(mx.MXNetError, match=r"_fill' for x: \(4, 3\), w: \(5,\): definition.c: w must be as long"):
        symbol.infer_shape(x=(4, 3), f_w=(5,))
    with pytest.raises(mx.MXNetError, match=r"_fill' for x: \(4,\), w: \?: definition.c: x must have 2 axes"):
        symbol.infer_shape(x=(4,))


def test_known_dimensions_pass_unknown_ones(native: Any) -> None:
    batch = native.sym("scale", mx.sym.var("x", shape=(0, 5)))
    hidden = mx.sym.FullyConnected(batch, num_hidden=7, name="fc")
    assert hidden.infer_shape_partial()[0] == [(0, 5), (7, 5), (7,)]


def test_a_shape_that_cannot_be_known_is_said_to_be(native: Any) -> None:
    symbol = native.sym("pair", mx.sym.var("a"), mx.sym.var("b"))
    with pytest.raises(mx.MXNetError, match="_pair': the shape of 'b' cannot be inferred from those that are known"):
        symbol.infer_shape(a=(3,))
    with pytest.raises(RuntimeError, match="_pair': the shape of 'a' cannot be inferred"):
        symbol.simple_bind(mx.cpu())
    with pytest.raises(mx.MXNetError, match="definition.c: a and b must have the same shape"):
        symbol.infer_shape(a=(3,), b=(4,))


@pytest.mark.parametrize("request_", ["write", "add", "null"])
def test_executors_honour_the_gradient_request(native: Any, request_: str) -> None:
    symbol = native.sym("scale", mx.sym.var("x"), alpha=3)
    executor = symbol.simple_bind(mx.cpu(), x=(2,), grad_req=request_)
    executor.arg_dict["x"][:] = mx.nd.array([1.0, 2.0])
    if request_ != "null":
        executor.grad_dict["x"][:] = 10
    for _ in range(2):
        executor.forward(is_train=True)
        executor.backward(mx.nd.array([1.0, 2.0]))
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), [3, 6])
    if request_ == "null":
        assert executor.grad_dict["x"] is None
    else:
        expected = {"write": [3, 6], "add": [16, 22]}[request_]
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), expected)


def test_a_value_used_often_gets_the_sum_of_its_gradients(native: Any) -> None:
    x = mx.sym.var("x")
    for uses in (2, 5, 20):
        symbol = mx.sym.add_n(*(native.sym("scale", x, alpha=i) for i in range(uses)))
        executor = symbol.simple_bind(mx.cpu(), x=(3,))
        executor.forward(is_train=True)
        executor.backward(mx.nd.ones(3))
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), [sum(range(uses))] * 3)


def test_is_train_reaches_the_kernel(native: Any) -> None:
    executor = native.sym("constant", mx.sym.var("x")).simple_bind(mx.cpu(), x=(1,))
    assert executor.forward(is_train=False)[0].asscalar() == 3.0
    assert executor.forward(is_train=True)[0].asscalar() == 7.0


def test_an_executor_can_be_reshaped(native: Any) -> None:
    executor = native.sym("scale", mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    larger = executor.reshape(x=(5,), allow_up_sizing=True)
    np.testing.assert_array_equal(larger.forward(x=mx.nd.ones(5))[0].asnumpy(), [2] * 5)


def test_a_graph_survives_json(native: Any) -> None:
    with mx.AttrScope(ctx_group="somewhere", __lr_mult__="2"):
        symbol = native.sym("scale", mx.sym.var("x"), alpha=0.5)
    loaded = mx.sym.load_json(symbol.tojson())
    assert loaded.attr("alpha") == "0.5"
    assert loaded.bind(mx.cpu(), {"x": mx.nd.array([8.0])}).forward()[0].asscalar() == 4.0


def test_a_failure_in_a_graph_surfaces_at_the_sync_point(native: Any) -> None:
    symbol = native.sym("scale", mx.sym.var("x"), alpha=-1) + 1
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    outputs = executor.forward()
    with pytest.raises(mx.MXNetError, match="scale_forward failed with status 1"):
        outputs[0].asnumpy()
    good = native.sym("scale", mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,))
    np.testing.assert_array_equal(good.forward(x=mx.nd.ones(2))[0].asnumpy(), [2, 2])


def test_module_trains(native: Any) -> None:
    """A line through data that lie on one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 2)).astype("float32")
    y = 2 * (x @ np.array([[1.5], [-2.0]], "float32"))
    hidden = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    symbol = mx.sym.LinearRegressionOutput(native.sym("scale", hidden, alpha=2), mx.sym.var("label"))
    module = mx.mod.Module(symbol, data_names=["data"], label_names=["label"])
    data = mx.io.NDArrayIter(x, y, batch_size=16, label_name="label")
    module.fit(data, num_epoch=40, optimizer_params={"learning_rate": 0.5}, initializer=mx.init.Zero())
    np.testing.assert_allclose(module.get_params()[0]["fc_weight"].asnumpy(), [[1.5, -2.0]], atol=1e-3)
