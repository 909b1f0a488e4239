"""The ops that ship with pykernels, called as ``mx.nd.Custom``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import process
import pytest
from folders import write_op

import pykernels
from pykernels.base import paths


@pytest.fixture(scope="module", autouse=True)
def shipped() -> Iterator[None]:
    pykernels.load_ops(paths.OPS)
    yield


def test_half_precision() -> None:
    x = mx.nd.random.normal(shape=(3, 4)).astype("float16")
    for op, wanted in {
        "relu": mx.nd.relu(x),
        "sigmoid": mx.nd.sigmoid(x),
        "softmax": mx.nd.softmax(x),
        "leaky_relu": mx.nd.LeakyReLU(x, slope=0.01),
    }.items():
        got = mx.nd.Custom(x, op_type=op)
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=2e-3, atol=2e-3, err_msg=op)


@pytest.mark.parametrize("shape", [(7,), (2, 3), (2, 1, 3, 2, 2)])
def test_any_rank(shape: tuple[int, ...]) -> None:
    x = mx.nd.random.normal(shape=shape)
    np.testing.assert_array_equal(mx.nd.Custom(x, op_type="relu").asnumpy(), np.maximum(x.asnumpy(), 0))


def test_arrays_without_axes_and_without_elements() -> None:
    with mx.util.np_shape(True):
        for shape in [(), (0,), (3, 0), (0, 2, 4)]:
            x = mx.nd.ones(shape) * -2
            x.attach_grad()
            with mx.autograd.record():
                y = mx.nd.Custom(x, op_type="leaky_relu", alpha=0.5)
            y.backward()
            np.testing.assert_array_equal(y.asnumpy(), np.full(shape, -1, "float32"))
            np.testing.assert_array_equal(x.grad.asnumpy(), np.full(shape, 0.5, "float32"))
    with pytest.raises(mx.MXNetError, match=r"'relu': the shape of 'x' is unknown or has a dimension of 0"):
        mx.nd.Custom(mx.nd.array([]), op_type="relu")


def test_views_and_results_in_place() -> None:
    x = mx.nd.array(np.arange(-6, 6).reshape(4, 3))
    np.testing.assert_array_equal(mx.nd.Custom(x[1:3], op_type="relu").asnumpy(), [[0, 0, 0], [0, 1, 2]])
    np.testing.assert_array_equal(mx.nd.Custom(x.T, op_type="relu").asnumpy(), np.maximum(x.asnumpy().T, 0))
    mx.nd.Custom(x[1:3], op_type="relu", out=x[1:3])
    np.testing.assert_array_equal(x.asnumpy()[:, 0], [-6, 0, 0, 3])
    mx.nd.Custom(x, op_type="softmax", out=x)
    np.testing.assert_allclose(x.asnumpy().sum(axis=1), 1, rtol=1e-6)


def test_op_types_are_ops_of_their_own() -> None:
    y, dy = mx.nd.array([0.5]), mx.nd.array([8.0])
    assert mx.nd.Custom(y, dy, op_type="sigmoid_backward").asscalar() == 2.0
    assert mx.nd.Custom(mx.nd.array([0.0]), op_type="sigmoid_forward").asscalar() == 0.5


def test_the_user_function_takes_arrays_and_symbols() -> None:
    relu, dense = (pykernels.list_ops()[name].api for name in ("relu", "dense"))
    x = mx.nd.array([[-1.0, 2.0]])
    np.testing.assert_array_equal(relu.relu(x).asnumpy(), [[0, 2]])
    symbol = dense.dense(relu.relu(mx.sym.var("x")), mx.sym.var("w"), bias=1)
    executor = symbol.bind(mx.cpu(), {"x": x, "w": mx.nd.ones((3, 2))})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), [[3, 3, 3]])


def test_the_user_function_takes_numpy_arrays_of_mxnet() -> None:
    relu = pykernels.list_ops()["relu"].api.relu
    with mx.util.np_shape(True), mx.util.np_array(True):
        x = mx.np.array([-1.0, 2.0])
        x.attach_grad()
        with mx.autograd.record():
            y = relu(x)
        y.backward()
        assert type(y) is mx.np.ndarray
        np.testing.assert_array_equal(y.asnumpy(), [0, 2])
        np.testing.assert_array_equal(x.grad.asnumpy(), [0, 1])
        symbol = relu(mx.sym.var("x").as_np_ndarray())
        assert isinstance(symbol, mx.sym.np._Symbol)


def test_editing_a_folder_and_reloading(tmp_path: Path) -> None:
    name = "reloaded"
    kernel = """
        def forward(args):
            (x,) = args
            return x + {}

        def backward(args):
            dy, x, y = args
            return dy
    """
    folder = write_op(tmp_path, name, kernel.format("1"))
    pykernels.load_ops(folder)
    x = mx.nd.array([1.0])
    graph = mx.sym.Custom(mx.sym.var("x"), op_type=name).bind(mx.cpu(), {"x": x})
    assert mx.nd.Custom(x, op_type=name).asscalar() == 2.0
    write_op(tmp_path, name, kernel.format("100"))
    pykernels.reload(name)
    assert mx.nd.Custom(x, op_type=name).asscalar() == 101.0
    assert graph.forward()[0].asscalar() == 2.0, "a graph keeps the op that it was made with"
    pykernels.unload_ops(name)
    with pytest.raises(mx.MXNetError, match=f"op '{name}' is not loaded; the loaded ops are: .*leaky_relu"):
        mx.nd.Custom(x, op_type=name)
    assert graph.forward()[0].asscalar() == 2.0
    pykernels.load_ops(folder)
    assert mx.nd.Custom(x, op_type=name).asscalar() == 101.0
    pykernels.unload_ops(name)


def test_other_custom_operators_are_left_alone() -> None:
    """MXNet's own, written in Python, go their own way, also under the name of an op that was loaded before."""

    class Operator(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] * 3)

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            self.assign(in_grad[0], req[0], out_grad[0] * 3)

    class Prop(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return Operator()

    mx.operator.register("written_for_mxnet")(Prop)
    x = mx.nd.array([2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(mx.nd.Custom(x, op_type="relu"), op_type="written_for_mxnet")
    y.backward()
    assert (y.asscalar(), x.grad.asscalar()) == (6.0, 3.0)


def test_many_calls_in_flight() -> None:
    x = mx.nd.ones(16)
    for _ in range(2000):
        x = mx.nd.Custom(x, op_type="relu")
    np.testing.assert_array_equal(x.asnumpy(), 1)


PROGRAM = """
import sys
import pykernels
{first}
pykernels.load_ops()
{second}
assert "numba" not in sys.modules
x = mx.nd.array([-1.0, 2.0])
assert mx.nd.Custom(x, op_type="relu").asnumpy().tolist() == [0, 2]
"""


@pytest.mark.thorough
@pytest.mark.parametrize("import_first", [True, False])
def test_mxnet_may_be_imported_before_or_after_loading(import_first: bool, tmp_path: Path) -> None:
    importing = "import mxnet as mx"
    program = PROGRAM.format(
        first=f"import pykernels.compat.mxnet\n{importing}" if import_first else "assert 'mxnet' not in sys.modules",
        second="" if import_first else importing,
    )
    done = process.python("-W", "error", "-c", program, cwd=paths.OPS.parent)
    assert done.returncode == 0, done.stderr
