"""Models of MXNet with custom operators of ours, exported to ONNX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import pykernels
import pykernels.onnx
from pykernels.base.errors import CallError

# By a module of its own: without MXNet, the folder of its tests goes by that name.
pytest.importorskip("mxnet.gluon", reason="MXNet is not installed")
import mxnet as mx

pytestmark = pytest.mark.usefixtures("shipped")


class Activation(mx.gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Custom(x, op_type="leaky_relu", alpha=0.3)


class Softmax(mx.gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Custom(x, op_type="softmax", axis=1)


def test_a_gluon_model_gives_the_same_in_onnx_runtime(tmp_path: Path) -> None:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8), Activation(), mx.gluon.nn.Dense(3), Softmax())
    net.initialize()
    net.hybridize()
    x = mx.nd.random.normal(shape=(4, 5))
    expected = net(x).asnumpy()
    net.export(str(tmp_path / "net"))
    files = [str(tmp_path / name) for name in ("net-symbol.json", "net-0000.params")]
    path = pykernels.onnx.export_mxnet(*files, [(4, 5)], np.float32, tmp_path / "net.onnx", dynamic=True)
    model = onnx.load(path)
    assert {opset.domain: opset.version for opset in model.opset_import} == {"": 13, "pykernels": 1}
    assert [node.op_type for node in model.graph.node if node.domain == "pykernels"] == ["leaky_relu", "softmax"]
    session = pykernels.onnx.session(path)
    np.testing.assert_allclose(session.run(None, {"data": x.asnumpy()})[0], expected, rtol=1e-5, atol=1e-6)
    other = mx.nd.random.normal(shape=(2, 5))
    np.testing.assert_allclose(
        session.run(None, {"data": other.asnumpy()})[0], net(other).asnumpy(), rtol=1e-5, atol=1e-6
    )


def test_a_symbol_with_several_inputs_and_outputs(tmp_path: Path) -> None:
    data, labels = mx.sym.Variable("data"), mx.sym.Variable("labels")
    loss = mx.sym.Custom(data, labels, op_type="softmax_cross_entropy", need_top_grad=False, name="loss")
    rng = np.random.default_rng(0)
    given = {"data": rng.normal(size=(4, 3)).astype("float32"), "labels": np.array([0, 2, 1, 1], "float32")}
    expected = loss.eval(**{name: mx.nd.array(value) for name, value in given.items()})
    path = pykernels.onnx.export_mxnet(loss, {}, [(4, 3), (4,)], [np.float32, np.float32], tmp_path / "loss.onnx")
    results = pykernels.onnx.session(path).run(["loss_loss", "loss_probability"], given)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value.asnumpy(), rtol=1e-5, atol=1e-6)


def test_an_operator_that_is_not_loaded_is_reported(tmp_path: Path) -> None:
    symbol = mx.sym.Custom(mx.sym.Variable("data"), op_type="leaky_relu", name="y")
    pykernels.unload_ops("leaky_relu")
    try:
        with pytest.raises((CallError, mx.MXNetError), match="op 'leaky_relu' is not loaded"):
            pykernels.onnx.export_mxnet(symbol, {}, [(4,)], np.float32, tmp_path / "y.onnx")
    finally:
        pykernels.load_ops(pykernels.base.paths.OPS)
    assert list(tmp_path.iterdir()) == []
