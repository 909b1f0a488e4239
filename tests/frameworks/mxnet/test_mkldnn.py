"""Ops beside MKLDNN convolutions, which keep their results in an order of their own.

MXNet 1.9.1 hands a custom operator on a thread of its own temporary copies of such arrays, which it frees too early.
Inside the engine that cannot happen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.frameworks.mxnet import plugin

in_engine = pytest.mark.parametrize("native", ["engine"], indirect=True)


def run(net: Callable[[Any], Any], x: Any) -> tuple[np.ndarray, np.ndarray]:
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward()
    # Whatever is freed too early is given to these.
    for _ in range(8):
        mx.nd.random.uniform(shape=y.shape)
    return y.asnumpy(), x.grad.asnumpy()


@in_engine
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("order", ["conv-op", "op-conv", "conv-op-conv"])
def test_convolutions_before_and_behind(native: Any, order: str, hybrid: bool) -> None:
    def net_with(scale: Callable[[Any, Any], Any]) -> mx.gluon.HybridBlock:
        class Net(mx.gluon.HybridBlock):
            def __init__(self) -> None:
                super().__init__(prefix="net_")
                with self.name_scope():
                    self.convolutions = [mx.gluon.nn.Conv2D(16, 3, padding=1) for _ in range(order.count("conv"))]
                    for at, convolution in enumerate(self.convolutions):
                        self.register_child(convolution, str(at))

            def hybrid_forward(self, F: Any, x: Any) -> Any:
                remaining = list(self.convolutions)
                for step in order.split("-"):
                    x = remaining.pop(0)(x) if step == "conv" else scale(F, x)
                return x

        return Net()

    def ours(F: Any, x: Any) -> Any:
        flat = F.reshape(x, (-1,))
        op = native.nd if F is mx.nd else native.sym
        return F.reshape_like(op("scale", flat, alpha=0.5), x)

    x = mx.nd.random.normal(shape=(4, 16, 12, 12))
    net, expected = net_with(ours), net_with(lambda F, x: x * 0.5)
    net.initialize(mx.init.Xavier())
    expected.initialize()
    net(x)
    expected(x)
    for one, other in zip(net.collect_params().values(), expected.collect_params().values()):
        other.set_data(one.data())
    if hybrid:
        net.hybridize()
    wanted = run(expected, x)
    for _ in range(40):
        got = run(net, x)
        for a, b in zip(got, wanted):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@in_engine
def test_straight_from_one_to_the_other(native: Any) -> None:
    """Without anything between, so that the op meets the convolution's own order."""
    convolution = mx.gluon.nn.Conv2D(16, 3, padding=1, in_channels=16)
    convolution.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(4, 16, 12, 12))
    bias = mx.nd.zeros((4, 16, 12, 12))
    wanted = run(lambda x: convolution(convolution(x) * 1.0), x)
    for _ in range(40):
        got = run(lambda x: convolution(native.nd("join", convolution(x), bias, num_args=(1, 1))), x)
        for a, b in zip(got, wanted):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@in_engine
def test_gradients_are_added_to_those_of_a_convolution(native: Any) -> None:
    """Whichever comes first leaves its gradient in its own order, and the other adds to it."""
    convolution = mx.gluon.nn.Conv2D(16, 3, padding=1, in_channels=16)
    convolution.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(4, 16, 12, 12))
    wanted = run(lambda x: convolution(x) + x, x)[1]
    nothing = mx.nd.zeros(x.shape)
    for _ in range(20):
        for net in (
            lambda x: convolution(x) + native.nd("join", x, nothing, num_args=(1, 1)),
            lambda x: native.nd("join", x, nothing, num_args=(1, 1)) + convolution(x),
        ):
            np.testing.assert_allclose(run(net, x)[1], wanted, rtol=1e-4, atol=1e-5)


@in_engine
def test_results_may_go_into_a_result_of_a_convolution(native: Any) -> None:
    convolution = mx.gluon.nn.Conv2D(16, 3, padding=1, in_channels=16)
    convolution.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(4, 16, 12, 12))
    nothing = mx.nd.zeros(x.shape)
    wanted = convolution(x).asnumpy()
    for _ in range(20):
        y = convolution(x)
        native.nd("join", y, nothing, num_args=(1, 1), out=y)
        np.testing.assert_allclose(y.asnumpy(), wanted, rtol=1e-6)


def test_shipped_ops_beside_convolutions() -> None:
    pykernels.load_ops(paths.OPS)
    convolution = mx.gluon.nn.Conv2D(16, 3, padding=1, in_channels=16)
    convolution.initialize(mx.init.Xavier())
    x = mx.nd.random.normal(shape=(4, 16, 12, 12))
    wanted = run(lambda x: mx.nd.relu(convolution(mx.nd.relu(convolution(x)))), x)
    relu = pykernels.list_ops()["relu"].api.relu
    for _ in range(40):
        for a, b in zip(run(lambda x: relu(convolution(relu(convolution(x)))), x), wanted):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_warning_says_when_convolutions_spoil_values(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = pykernels.LoadError("not the libmxnet that is known")
    monkeypatch.delenv("MXNET_MKLDNN_ENABLED", raising=False)
    with pytest.warns(pykernels.PykernelsWarning, match="not the libmxnet that is known.*MXNET_MKLDNN_ENABLED=0"):
        plugin._warn_of_convolutions(reason)
    monkeypatch.setenv("MXNET_MKLDNN_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugin._warn_of_convolutions(reason)
