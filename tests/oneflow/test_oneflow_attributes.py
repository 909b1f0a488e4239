"""Attributes of every type, repeated and optional arguments, several outputs, and dtypes; in graphs, too."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import pytest

import pykernels

DEFINITION = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
namespace {

Maybe<void> InferShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  for (int i = 0; i < ctx->output_size("each"); ++i) ctx->SetOutputShape("each", i, ctx->InputShape("xs", i));
  return Maybe<void>::Ok();
}

Maybe<void> InferGradShape(user_op::InferContext* ctx) {
  ctx->SetOutputShape("dx", 0, ctx->InputShape("dy", 0));
  for (int i = 0; i < ctx->output_size("dxs"); ++i) ctx->SetOutputShape("dxs", i, ctx->InputShape("deach", i));
  return Maybe<void>::Ok();
}

Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  const int n = ctx->FwOp().input_size("xs");
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    builder.OpTypeName("every_backward").InputBind("dy", ctx->FwOp().output_grad("y", 0));
    for (int i = 0; i < n; ++i) builder.InputBind("deach", ctx->FwOp().output_grad("each", i));
    return builder.Output("dx").Output("dxs", n).Attr<double>("d", ctx->FwOp().attr<double>("d")).Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  for (int i = 0; i < n; ++i) {
    ctx->FwOp().InputGradBind(user_op::OpArg("xs", i), [&] { return ctx->GetOp(grad).output("dxs", i); });
  }
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("every_forward")
    .Input("x").InputWithMinimum("xs", 1).OptionalInput("bias")
    .Output("y").OutputWithMinimum("each", 1)
    .Attr<int32_t>("i32", -3).Attr<int64_t>("i64", 1LL << 40).Attr<bool>("yes", true)
    .Attr<float>("f", 0.1f).Attr<double>("d", 0.1).Attr<std::string>("s", "plain")
    .Attr<Shape>("shape", Shape({2, 3})).Attr<DataType>("dtype", DataType::kDouble)
    .Attr<std::vector<int32_t>>("li32", {1, -2}).Attr<std::vector<int64_t>>("li64", {1LL << 40})
    .Attr<std::vector<float>>("lf", {0.5f, 0.1f})
    .Attr<std::vector<DataType>>("ldtype", {DataType::kInt8, DataType::kBool})
    .Attr<std::vector<Shape>>("lshape", {Shape({1}), Shape({4, 5})})
    .Attr<std::vector<std::string>>("ls", {"", "b"})
    .SetTensorDescInferFn(InferShape)
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputDType("y", 0, ctx->InputDType("x", 0));
      for (int i = 0; i < ctx->output_size("each"); ++i) ctx->SetOutputDType("each", i, ctx->InputDType("xs", i));
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP("every_backward")
    .Input("dy").InputWithMinimum("deach", 1)
    .Output("dx").OutputWithMinimum("dxs", 1)
    .Attr<double>("d")
    .SetTensorDescInferFn(InferGradShape)
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputDType("dx", 0, ctx->InputDType("dy", 0));
      for (int i = 0; i < ctx->output_size("dxs"); ++i) ctx->SetOutputDType("dxs", i, ctx->InputDType("deach", i));
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP_GRAD("every_forward").SetBackwardOpConfGenFn(PlanGradient);

}  // namespace oneflow
"""
#: Writes every attribute into a digit of its own, so that one that arrives changed changes the result.
KERNEL = """
    def forward(args, *, i32, i64, yes, f, d, s, shape, dtype, li32, li64, lf, ldtype, lshape, ls):
        x, xs, *rest = args
        values = repr((i32, i64, bool(yes), f, d, s, shape, dtype, li32, li64, lf, ldtype, lshape, ls))
        bias = rest[0] if rest and rest[0] is not None else 0
        code = sum(ord(letter) * (at % 7 + 1) for at, letter in enumerate(values)) % 251
        return x * code + bias, tuple(each * (at + 1) for at, each in enumerate(xs))


    def backward(args, *, d):
        dy, deach = args
        return dy * d, tuple(each * (at + 1) for at, each in enumerate(deach))
"""
GIVEN = {
    "i32": -(2**31),
    "i64": 2**62,
    "yes": False,
    "f": 0.3,
    "d": 0.7,
    "s": "ünïcode 'q'",
    "shape": (),
    "dtype": "int8",
    "li32": (),
    "li64": (-(2**62), 1),
    "lf": (0.1, 1e30),
    "ldtype": ("float16",),
    "lshape": ((), (2, 0)),
    "ls": ("a b", "", "c"),
}


@pytest.fixture(scope="module", autouse=True)
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder: Path = tmp_path_factory.mktemp("every") / "every"
    folder.mkdir()
    (folder / "every_cpp_def.cpp").write_text(DEFINITION)
    (folder / "every_py_kernel.py").write_text(textwrap.dedent(KERNEL))
    (folder / "every_py_api.py").write_text("")
    pykernels.load_ops(folder)
    yield
    pykernels.unload_ops("every")


def call(x: Any, xs: Sequence[Any], bias: Any = None, **attributes: Any) -> list[Any]:
    builder = pykernels.user_op_builder("every").Op("every_forward").Input("x", [x]).Input("xs", list(xs))
    if bias is not None:
        builder = builder.Input("bias", [bias])
    for name, value in attributes.items():
        builder = builder.Attr(name, value)
    return list(builder.Output("y").Output("each", len(xs)).Build().InferAndTryRun().RemoteBlobList())


def in_graph(function: Callable[..., Any], *tensors: Any) -> Any:
    class Graph(flow.nn.Graph):
        def build(self, *args: Any) -> Any:
            return function(*args)

    return Graph()(*tensors)


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("attributes", [{}, *({name: value} for name, value in GIVEN.items()), GIVEN], ids=str)
def test_attributes_arrive_as_on_arrays(attributes: dict[str, Any]) -> None:
    x = np.arange(3.0)
    expected, _ = call(x, [x], **attributes)
    t = flow.tensor(x)
    np.testing.assert_array_equal(call(t, [t], **attributes)[0].numpy(), expected)
    np.testing.assert_array_equal(in_graph(lambda t: call(t, [t], **attributes)[0], t).numpy(), expected)


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("n", [1, 3, 11])
@pytest.mark.parametrize("has_bias", [False, True])
def test_repeated_and_optional_arguments(n: int, has_bias: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, i + 1)) for i in range(n)]
    x, bias = rng.normal(size=4), rng.normal(size=4) if has_bias else None
    expected = call(x, arrays, bias)
    tensors = [flow.tensor(a) for a in arrays]
    t, b = flow.tensor(x), None if bias is None else flow.tensor(bias)
    given = [t, *tensors] if b is None else [t, *tensors, b]
    graph = in_graph(lambda x, *rest: tuple(call(x, rest[:n], rest[n] if has_bias else None)), *given)
    for results in (call(t, tensors, b), graph):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted)


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_gradients_of_repeated_arguments() -> None:
    """In a graph their order is not the one in which OneFlow lists them."""
    xs = [flow.ones(i + 1, dtype=flow.float64, requires_grad=True) for i in range(11)]
    x = flow.ones(4, dtype=flow.float64, requires_grad=True)
    sum(y.sum() for y in call(x, xs, d=0.25)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(4, 0.25))
    for i, each in enumerate(xs):
        np.testing.assert_array_equal(each.grad.numpy(), np.full(i + 1, i + 1.0))

    class Trained(flow.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for i in range(11):
                self.register_parameter(f"p{i}", flow.nn.Parameter(flow.zeros(i + 1)))

        def forward(self, x: Any) -> Any:
            _, *each = call(x, [getattr(self, f"p{i}") for i in range(11)])
            return sum(e.sum() for e in each)

    class Graph(flow.nn.Graph):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module
            self.add_optimizer(flow.optim.SGD(module.parameters(), lr=1.0))

        def build(self, x: Any) -> Any:
            loss = self.module(x)
            loss.backward()
            return loss

    module = Trained()
    Graph(module)(flow.ones(2)).numpy()
    for i in range(11):
        np.testing.assert_array_equal(getattr(module, f"p{i}").numpy(), np.full(i + 1, -(i + 1.0)))


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    pykernels.load_ops(pykernels.paths.OPS / "relu")
    relu = pykernels.list_ops()["relu"].api.relu
    values = np.array([-2, 0, 3]).astype(dtype)
    if dtype == "bool":
        with pytest.raises((RuntimeError, pykernels.PykernelsError)):
            relu(values)
        with pytest.raises(RuntimeError, match="relu"):
            relu(flow.tensor(values)).numpy()
        return
    result = relu(flow.tensor(values)).numpy()
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, relu(values))
