"""Ops without inputs, which make their outputs from attributes alone; defined in C++ and in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest
from folders import write_op

import pykernels

CPP_DEF = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("NAME_forward")
    .Output("y")
    .Output("last")
    .Attr<Shape>("shape")
    .Attr<float>("step", 1.0)
    .Attr<DataType>("dtype", DataType::kFloat)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_GT_OR_RETURN(ctx->Attr<Shape>("shape").elem_cnt(), 0) << "shape must have elements";
      ctx->SetOutputShape("y", 0, ctx->Attr<Shape>("shape"));
      ctx->SetOutputShape("last", 0, Shape({1}));
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputDType("y", 0, ctx->Attr<DataType>("dtype"));
      ctx->SetOutputDType("last", 0, ctx->Attr<DataType>("dtype"));
      return Maybe<void>::Ok();
    });
}
"""
PY_DEF = """
    import numpy as np
    import pykernels


    class Ramp(pykernels.CustomOpProp):
        def __init__(self, shape: tuple[int, ...], step: float = 1.0, dtype: np.dtype = np.dtype("float32")):
            super().__init__(need_top_grad=False)
            self.shape, self.dtype = shape, dtype

        def list_arguments(self):
            return []

        def list_outputs(self):
            return ["y", "last"]

        def infer_shape(self, in_shape):
            if np.prod(self.shape) == 0:
                raise ValueError("shape must have elements")
            return [], [self.shape, [1]], []

        def infer_type(self, in_type):
            return [], [self.dtype, self.dtype], []

        def declare_backward_dependency(self, out_grad, in_data, out_data):
            return []
"""
COMPILED = """
    import numpy as np


    def forward(args, outs, *, step):
        y, last = outs
        flat = y.reshape(y.size)
        for i in range(y.size):
            flat[i] = step * i
        last[0] = flat[-1]
"""
AS_PYTHON = COMPILED.replace("y, last = outs", "y, last = outs\n        {}['a'] = 1  # not for numba")


@pytest.fixture(scope="module", params=["cpp", "python", "cpp-interpreted"])
def op(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    name = f"ramp_{request.param.replace('-', '_')}"
    kernel = AS_PYTHON if request.param.endswith("interpreted") else COMPILED
    folder = write_op(tmp_path_factory.mktemp("ops"), name, kernel, PY_DEF)
    if request.param.startswith("cpp"):
        (folder / f"{name}_py_def.py").unlink()
        (folder / f"{name}_cpp_def.cpp").write_text(CPP_DEF.replace("NAME", name))
    pykernels.load_ops(folder)
    yield name
    pykernels.unload_ops(name)


pytestmark = pytest.mark.filterwarnings("ignore:.* runs as Python:pykernels.PykernelsWarning")

RAMP = np.arange(6, dtype="float32").reshape(2, 3)


@pytest.mark.thorough
def test_arrays(op: str) -> None:
    y, last = mx.nd.Custom(op_type=op, shape=(2, 3), step=0.5)
    np.testing.assert_array_equal(y.asnumpy(), RAMP / 2)
    assert (y.dtype, last.asscalar()) == (np.float32, 2.5)
    y, last = mx.nd.Custom(op_type=op, shape=(4,), dtype="int32")
    np.testing.assert_array_equal(y.asnumpy(), [0, 1, 2, 3])
    assert (y.dtype, last.dtype) == (np.int32, np.int32)


def test_out(op: str) -> None:
    y, last = mx.nd.full((2, 3), 7), mx.nd.full(1, 7)
    mx.nd.Custom(op_type=op, shape=(2, 3), out=[y, last])
    np.testing.assert_array_equal(y.asnumpy(), RAMP)
    assert last.asscalar() == 5


def test_gradients_of_what_is_beside(op: str) -> None:
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    with mx.autograd.record():
        y = x * mx.nd.Custom(op_type=op, shape=(2, 3))[0]
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), RAMP)


def graph(op: str) -> Any:
    return mx.sym.var("x") * mx.sym.Custom(op_type=op, shape=(2, 3), step=2, name="ramp")[0]


def test_symbols(op: str) -> None:
    symbol = mx.sym.load_json(graph(op).tojson())
    assert symbol.list_arguments() == ["x"]
    # Shapes and types of what is beside follow from the op's outputs.
    assert symbol.infer_shape() == ([(2, 3)], [(2, 3)], [])
    assert symbol.infer_type() == ([np.float32], [np.float32], [])
    executor = symbol.simple_bind(mx.cpu(), x=(2, 3), grad_req="add")
    for step in (1, 2):
        (y,) = executor.forward(is_train=True, x=mx.nd.full((2, 3), step))
        executor.backward(mx.nd.ones((2, 3)))
        np.testing.assert_array_equal(y.asnumpy(), 2 * step * RAMP)
        np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), 2 * step * RAMP)


@pytest.mark.parametrize("flags", [None, {}, {"static_alloc": True}, {"static_alloc": True, "static_shape": True}])
def test_gluon(op: str, flags: dict[str, bool] | None) -> None:
    class AddRamp(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return x * F.Custom(op_type=op, shape=(2, 3))[0]

    block = AddRamp()
    if flags is not None:
        block.hybridize(**flags)
    for factor in (1, 2, 3):
        x = mx.nd.full((2, 3), factor)
        x.attach_grad()
        with mx.autograd.record():
            y = block(x)
        y.backward()
        np.testing.assert_array_equal(y.asnumpy(), factor * RAMP)
        np.testing.assert_array_equal(x.grad.asnumpy(), RAMP)


def test_numpy(op: str) -> None:
    def call(**attributes: Any) -> Any:
        builder = pykernels.user_op_builder(op).Op(f"{op}_forward").Output("y").Output("last")
        for name, value in attributes.items():
            builder.Attr(name, value)
        return builder.Build().InferAndTryRun().RemoteBlobList()

    y, last = call(shape=(2, 3), step=0.5)
    assert type(y) is np.ndarray and y.dtype == np.float32
    np.testing.assert_array_equal(y, RAMP / 2)
    np.testing.assert_array_equal(last, [2.5])
    assert call(shape=(4,), dtype="float64")[0].dtype == np.float64
    with pytest.raises(pykernels.CallError, match="shape must have elements"):
        call(shape=(2, 0))


def test_wrong_calls(op: str) -> None:
    with pytest.raises(mx.MXNetError, match=f"op '{op}'.*attribute 'shape'"):
        mx.nd.Custom(op_type=op)
    with pytest.raises(mx.MXNetError, match=f"op '{op}' takes no inputs, got 1"):
        mx.nd.Custom(mx.nd.ones(1), op_type=op, shape=(2, 3))
    with pytest.raises(mx.MXNetError, match=f"op '{op}'.*: shape must have elements"):
        mx.nd.Custom(op_type=op, shape=(2, 0))
