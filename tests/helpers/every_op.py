"""An op with attributes of every type, repeated and optional arguments and several outputs, for tests of frameworks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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


def write_every_op(parent: Path) -> Path:
    """The op folder ``every`` in `parent`."""
    folder = parent / "every"
    folder.mkdir()
    (folder / "every_cpp_def.cpp").write_text(DEFINITION)
    (folder / "every_py_kernel.py").write_text(textwrap.dedent(KERNEL))
    (folder / "every_py_api.py").write_text("")
    return folder


def call(x: Any, xs: Sequence[Any], bias: Any = None, **attributes: Any) -> list[Any]:
    builder = pykernels.user_op_builder("every").Op("every_forward").Input("x", [x]).Input("xs", list(xs))
    if bias is not None:
        builder = builder.Input("bias", [bias])
    for name, value in attributes.items():
        builder = builder.Attr(name, value)
    return list(builder.Output("y").Output("each", len(xs)).Build().InferAndTryRun().RemoteBlobList())


def in_pytorchs_words(name: str, value: Any) -> Any:
    """A value of `GIVEN` as an operator of PyTorch takes it."""
    import torch

    if name == "dtype":
        return getattr(torch, value)
    return [getattr(torch, each) for each in value] if name == "ldtype" else value
