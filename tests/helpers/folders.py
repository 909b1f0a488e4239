"""Op folders for tests, with definitions in Python, which take no compiler."""

from __future__ import annotations

import textwrap
from pathlib import Path

API = """
    import pykernels


    def {name}(x, **attributes):
        call = pykernels.user_op_builder("{name}").Op("{name}_forward").Input("data", [x]).Output("output")
        for key, value in attributes.items():
            call = call.Attr(key, value)
        return call.Build().InferAndTryRun().SoleOutputBlob()
"""
PROP = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        pass
"""
#: Kernels and a definition for an op that changes from one version of its folder to the next.
TIMES = "def forward(args):\n    return args[0] * {factor}\n\ndef backward(args):\n    return args[0] * {factor}\n"
TIMES_ATTRIBUTE = (
    "def forward(args, *, by):\n    return args[0] * by\n\ndef backward(args, *, by):\n    return args[0] * by\n"
)
PROP_WITH_ATTRIBUTE = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def __init__(self, by: int = 7):
            super().__init__(need_top_grad=True)
"""


def write_op(parent: Path, name: str, kernel: str, definition: str = PROP) -> Path:
    """An op folder `name` in `parent`; without a definition: one input, one output, the same shape and dtype."""
    folder = parent / name
    folder.mkdir(exist_ok=True)
    for ending, text in (("py_api", API.format(name=name)), ("py_kernel", kernel), ("py_def", definition)):
        (folder / f"{name}_{ending}.py").write_text(textwrap.dedent(text))
    return folder


#: An op with all derivatives, ``scale * (w * x * x).sum(axis=-1)``.
SQUARES_PROP = """
    import pykernels


    class Squares(pykernels.CustomOpProp):
        arguments = ["x", "w"]
        outputs = ["y"]
        dtypes = "floating"
        backward = "x, w, dy -> dx, dw"
        backward_backward = "x, w, dy, gdx, gdw -> gx, gw, gdy"
        tangent = "x, w, tx, tw -> ty"
        backward_tangent = "x, w, dy, tx, tw, tdy -> tdx, tdw"
        scale: float

        def infer_shape(self, in_shape):
            *lead, n = in_shape[0]
            return [[*lead, n], [n]], [lead], []
"""
SQUARES = """
    import numpy as np


    def forward(args, *, scale):
        x, w = args
        return scale * (w * x * x).sum(axis=-1)


    def backward(args, *, scale):
        x, w, dy = args
        row = scale * dy[..., None]
        return 2 * row * w * x, np.sum(row * x * x, axis=tuple(range(x.ndim - 1)))


    def backward_backward(args, *, scale):
        x, w, dy, gdx, gdw = args
        row = scale * dy[..., None]
        gw = np.sum(2 * row * x * gdx, axis=tuple(range(x.ndim - 1)))
        return 2 * row * (w * gdx + x * gdw), gw, scale * (2 * w * x * gdx + gdw * x * x).sum(axis=-1)


    def tangent(args, *, scale):
        x, w, tx, tw = args
        return scale * (tw * x * x + 2 * w * x * tx).sum(axis=-1)


    def backward_tangent(args, *, scale):
        x, w, dy, tx, tw, tdy = args
        row, trow = scale * dy[..., None], scale * tdy[..., None]
        tdw = np.sum(trow * x * x + 2 * row * x * tx, axis=tuple(range(x.ndim - 1)))
        return 2 * (trow * w * x + row * (tw * x + w * tx)), tdw
"""

#: An op with derivatives of every order: its backward op, a product, is the gradient of its own inputs.
EXPONENTIAL_DEFINITION = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
namespace {

Maybe<void> Like(user_op::InferContext* ctx, const std::string& from, const std::string& to) {
  ctx->SetOutputShape(to, 0, ctx->InputShape(from, 0));
  return Maybe<void>::Ok();
}

/* dx = y * dy */
Maybe<void> PlanGradient(user_op::BackwardOpConfContext* ctx) {
  const std::string grad = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("exponential_backward").InputBind("y", ctx->FwOp().output("y", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0)).Output("dx").Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(grad).output("dx", 0); });
  return Maybe<void>::Ok();
}

/* Of a product each factor has the other. */
Maybe<void> PlanSecondGradient(user_op::BackwardOpConfContext* ctx) {
  for (const auto& [of, other] : {std::pair<std::string, std::string>{"y", "dy"}, {"dy", "y"}}) {
    const std::string name = ctx->FwOp().op_name() + "_grad_of_" + of;
    ctx->DefineOp(name, [&, other = other](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName("exponential_backward").InputBind("y", ctx->FwOp().input(other, 0))
          .InputBind("dy", ctx->FwOp().output_grad("dx", 0)).Output("dx").Build();
    });
    ctx->FwOp().InputGradBind(user_op::OpArg(std::string(of), 0), [&] { return ctx->GetOp(name).output("dx", 0); });
  }
  return Maybe<void>::Ok();
}

}  // namespace

REGISTER_USER_OP("exponential_forward").Input("x").Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) { return Like(ctx, "x", "y"); });
REGISTER_USER_OP("exponential_backward").Input("y").Input("dy").Output("dx")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) { return Like(ctx, "dy", "dx"); });
REGISTER_USER_OP_GRAD("exponential_forward").SetBackwardOpConfGenFn(PlanGradient);
REGISTER_USER_OP_GRAD("exponential_backward").SetBackwardOpConfGenFn(PlanSecondGradient);

}  // namespace oneflow
"""
EXPONENTIAL = """
    import numpy as np

    def forward(args):
        return np.exp(args[0])

    def backward(args):
        y, dy = args
        return y * dy
"""


def write_exponential(parent: Path) -> Path:
    """The folder of the op `exponential` in `parent`."""
    folder = parent / "exponential"
    folder.mkdir()
    (folder / "exponential_cpp_def.cpp").write_text(EXPONENTIAL_DEFINITION)
    (folder / "exponential_py_kernel.py").write_text(textwrap.dedent(EXPONENTIAL))
    (folder / "exponential_py_api.py").write_text("")
    return folder
