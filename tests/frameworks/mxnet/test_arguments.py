"""An op with repeated and optional arguments, called directly and through the builder."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import mxnet as mx
import numpy as np
import pytest

import pykernels

pytestmark = pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")

FILES = {
    "weighted_sum_cpp_def.cpp": """
        #include "oneflow/core/framework/framework.h"

        namespace oneflow {
        namespace {

        Maybe<void> InferForward(user_op::InferContext* ctx) {
          ctx->SetOutputShape("out", 0, ctx->InputShape("in", 0));
          return Maybe<void>::Ok();
        }

        Maybe<void> InferBackward(user_op::InferContext* ctx) {
          ctx->SetOutputShape("din", 0, ctx->InputShape("dout", 0));
          return Maybe<void>::Ok();
        }

        Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
          ctx->DefineOp("grad", [&](user_op::BackwardOpBuilder& builder) {
            return builder.OpTypeName("weighted_sum_backward")
                .InputBind("dout", ctx->FwOp().output_grad("out", 0))
                .Output("din")
                .Attr("weight", ctx->FwOp().attr<float>("weight"))
                .Build();
          });
          for (int i = 0; i < ctx->FwOp().input_size("in"); ++i) {
            ctx->FwOp().InputGradBind(user_op::OpArg("in", i), [&] { return ctx->GetOp("grad").output("din", 0); });
          }
          if (ctx->FwOp().has_input("bias", 0)) {
            ctx->FwOp().InputGradBind(user_op::OpArg("bias", 0), [&] { return ctx->FwOp().output_grad("out", 0); });
          }
          return Maybe<void>::Ok();
        }

        }  // namespace

        REGISTER_USER_OP("weighted_sum_forward")
            .InputWithMinimum("in", 2)
            .OptionalInput("bias")
            .Output("out")
            .Attr<float>("weight", 1)
            .SetLogicalTensorDescInferFn(InferForward)
            .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType);

        REGISTER_USER_OP("weighted_sum_backward")
            .Input("dout")
            .Output("din")
            .Attr<float>("weight", 1)
            .SetLogicalTensorDescInferFn(InferBackward)
            .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType);

        REGISTER_USER_OP_GRAD("weighted_sum_forward").SetBackwardOpConfGenFn(PlanGradient);

        }  // namespace oneflow
    """,
    "weighted_sum_py_kernel.py": """
        def forward(args, *, weight):
            inputs, bias = args
            total = sum(weight * x for x in inputs)
            return total if bias is None else total + bias


        def backward(args, *, weight):
            (dout,) = args
            return weight * dout
    """,
    "weighted_sum_py_api.py": """
        import pykernels


        def weighted_sum(inputs, bias=None, weight=1.0):
            call = pykernels.user_op_builder("sum").Op("weighted_sum_forward").Input("in", inputs).Output("out")
            if bias is not None:
                call = call.Input("bias", [bias])
            return call.Attr("weight", weight).Build().InferAndTryRun().SoleOutputBlob()
    """,
}


@pytest.fixture(scope="module")
def weighted_sum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("ops") / "weighted_sum"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(textwrap.dedent(text))
    pykernels.load_ops(folder)
    yield pykernels.list_ops()["weighted_sum"].api.weighted_sum
    pykernels.unload_ops("weighted_sum")


def arrays(n: int) -> list[Any]:
    made = [mx.nd.array([i + 1.0, 10.0 * i]) for i in range(n)]
    for each in made:
        each.attach_grad()
    return made


@pytest.mark.thorough
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("with_bias", [False, True])
def test_the_builder_says_which_is_which(weighted_sum: Any, n: int, with_bias: bool) -> None:
    *inputs, bias = arrays(n + 1)
    with mx.autograd.record():
        y = weighted_sum(inputs, bias if with_bias else None, weight=0.5)
    y.backward(mx.nd.array([1.0, 2.0]))
    total = sum(0.5 * x.asnumpy() for x in inputs) + (bias.asnumpy() if with_bias else 0)
    np.testing.assert_array_equal(y.asnumpy(), total)
    for each in inputs:
        np.testing.assert_array_equal(each.grad.asnumpy(), [0.5, 1.0])
    np.testing.assert_array_equal(bias.grad.asnumpy(), [1, 2] if with_bias else [0, 0])


def test_symbols(weighted_sum: Any) -> None:
    x, y, bias = arrays(3)
    symbol = weighted_sum([mx.sym.var("x"), mx.sym.var("y")], mx.sym.var("bias"))
    assert symbol.list_arguments() == ["x", "y", "bias"]
    executor = symbol.bind(mx.cpu(), {"x": x, "y": y, "bias": bias})
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), (x + y + bias).asnumpy())


def test_direct_calls_say_how_many(weighted_sum: Any) -> None:
    x, y, z = arrays(3)
    np.testing.assert_array_equal(mx.nd.Custom(x, y, op_type="weighted_sum").asnumpy(), (x + y).asnumpy())
    got = mx.nd.Custom(x, y, z, op_type="weighted_sum", weight=2, num_args=(2, 1))
    np.testing.assert_array_equal(got.asnumpy(), (2 * x + 2 * y + z).asnumpy())
    with pytest.raises(mx.MXNetError, match=r"3 inputs can be read in several ways.*as in \(2, 1\)"):
        mx.nd.Custom(x, y, z, op_type="weighted_sum", num_args=3)
    with pytest.raises(mx.MXNetError, match=r"inputs in \(2 or more\), bias \(optional\), not 1 of them"):
        mx.nd.Custom(x, op_type="weighted_sum", num_args=1)
