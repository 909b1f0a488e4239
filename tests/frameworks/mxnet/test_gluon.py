"""Ops inside Gluon blocks, as they are and hybridized in every way."""

from __future__ import annotations

from typing import Any

import mxnet as mx
import numpy as np
import pytest

HYBRIDIZED: dict[str, dict[str, Any] | None] = {
    "imperative": None,
    "hybrid": {},
    "static_alloc": {"static_alloc": True},
    "static_shape": {"static_alloc": True, "static_shape": True},
    "no_inline": {"inline_limit": 0, "forward_bulk_size": 1, "backward_bulk_size": 1},
}


class Net(mx.gluon.HybridBlock):
    """Two layers, with an op between and one behind."""

    def __init__(self, native: Any) -> None:
        super().__init__()
        self._native = native
        with self.name_scope():
            self.first = mx.gluon.nn.Dense(4)
            self.second = mx.gluon.nn.Dense(2)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        op = self._native.nd if F is mx.nd else self._native.sym
        hidden = op("scale", self.first(x), alpha=0.5)
        total, product = op("pair", hidden, hidden)
        return op("scale", self.second(total + product), alpha=3)


def reference(net: Net, x: Any) -> Any:
    hidden = net.first(x) * 0.5
    return net.second(hidden + hidden + hidden * hidden) * 3


def gradients(net: Net) -> dict[str, np.ndarray]:
    return {
        name.removeprefix(net.prefix): parameter.grad().asnumpy() for name, parameter in net.collect_params().items()
    }


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("mode", HYBRIDIZED)
def test_blocks_compute_and_learn_as_with_builtin_ops(native: Any, mode: str, grad_req: str) -> None:
    mx.random.seed(0)
    net = Net(native)
    net.initialize(mx.init.Normal(1))
    x = mx.nd.random.normal(shape=(5, 3))
    net(x)
    net.collect_params().setattr("grad_req", grad_req)
    expected: dict[str, np.ndarray] = {}
    for _ in range(2):
        with mx.autograd.record():
            wanted = reference(net, x)
        wanted.backward()
    expected = gradients(net)
    for parameter in net.collect_params().values():
        parameter.zero_grad()
    if (options := HYBRIDIZED[mode]) is not None:
        net.hybridize(**options)
    for _ in range(2):
        with mx.autograd.record():
            y = net(x)
        y.backward()
    np.testing.assert_allclose(y.asnumpy(), wanted.asnumpy(), rtol=1e-5)
    got = gradients(net)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("mode", HYBRIDIZED)
def test_shapes_and_dtypes_may_change_between_calls(native: Any, mode: str) -> None:
    class Twice(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            op = native.nd if F is mx.nd else native.sym
            return op("scale", op("scale", x))

    net = Twice()
    if (options := HYBRIDIZED[mode]) is not None:
        net.hybridize(**options)
    for shape in [(2,), (5,), (2,), (7,)]:
        np.testing.assert_array_equal(net(mx.nd.ones(shape)).asnumpy(), np.full(shape, 4))


def test_a_parameter_of_unknown_shape_is_completed(native: Any) -> None:
    class Filled(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(0,), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
            return (native.nd if F is mx.nd else native.sym)("fill", x, w)

    net = Filled()
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((2, 6)))
    assert net.w.shape == (6,)


@pytest.mark.filterwarnings("ignore:Cannot decide type")  # MXNet says so of any block
def test_a_block_can_be_saved_and_loaded(native: Any, tmp_path: Any) -> None:
    net = Net(native)
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((2, 3))
    y = net(x).asnumpy()
    net.export(str(tmp_path / "net"))
    loaded = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    np.testing.assert_allclose(loaded(x).asnumpy(), y, rtol=1e-6)


def test_numpy_arrays_of_mxnet(native: Any) -> None:
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = mx.np.array([1.0, 2.0])
        y = mx.nd.Custom(x.as_nd_ndarray(), op_type=f"{native.prefix}_scale").as_np_ndarray()
        np.testing.assert_array_equal(y.asnumpy(), [2, 4])
