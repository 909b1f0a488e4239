"""Optional and repeated inputs and outputs of nodes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
import pytest
from folders import write_op
from models import model_of, value
from onnx import helper
from onnx.reference import ReferenceEvaluator

import pykernels
import pykernels.onnx

DEFINITION = """
    #include "oneflow/core/framework/framework.h"
    namespace oneflow {
    REGISTER_USER_OP("combine_forward")
        .Input("x")
        .OptionalInput("scale")
        .OptionalInput("bias")
        .OptionalInputWithMinimum("more", 1)
        .Output("y")
        .OptionalOutput("twice")
        .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
          ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
          ctx->SetOutputDType("y", 0, ctx->InputDType("x", 0));
          if (ctx->has_output("twice", 0)) {
            ctx->SetOutputShape("twice", 0, ctx->InputShape("x", 0));
            ctx->SetOutputDType("twice", 0, ctx->InputDType("x", 0));
          }
          return Maybe<void>::Ok();
        });
    }
"""
KERNEL = """
    def forward(args, outs):
        x, scale, bias, more = args
        y, twice = outs
        for i in range(x.size):
            value = x[i]
            if scale is not None:
                value *= scale[i]
            if bias is not None:
                value += bias[i]
            for each in more:
                value += each[i]
            y[i] = value
            if twice is not None:
                twice[i] = 2 * value
"""


@pytest.fixture(scope="module", autouse=True)
def combine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = write_op(tmp_path_factory.mktemp("ops"), "combine", KERNEL)
    (folder / "combine_py_def.py").unlink()
    (folder / "combine_cpp_def.cpp").write_text(textwrap.dedent(DEFINITION))
    pykernels.load_ops(folder)
    yield
    pykernels.unload_ops("combine")


ARRAYS = {name: np.arange(1.0, 4) * 10**at for at, name in enumerate(["x", "scale", "bias", "a", "b"])}


def expected(names: list[str]) -> Any:
    y = ARRAYS["x"].copy()
    for at, name in enumerate(names[1:], 1):
        if name:
            y = y * ARRAYS[name] if at == 1 else y + ARRAYS[name]
    return y


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize(
    "names",
    [
        ["x"],
        ["x", "scale"],
        ["x", "scale", "bias"],
        ["x", "", "bias"],
        ["x", "scale", "", "a"],
        ["x", "", "", "a", "b"],
    ],
    ids=str,
)
@pytest.mark.parametrize("outputs", [["y"], ["y", "twice"]], ids=str)
def test_inputs_and_outputs_may_be_left_out(names: list[str], outputs: list[str]) -> None:
    nodes = [
        helper.make_node("combine", names, [f"{name}_" for name in outputs], domain="pykernels"),
        *(helper.make_node("Identity", [f"{name}_"], [name]) for name in outputs),
    ]
    given = {name: ARRAYS[name] for name in names if name}
    model = model_of(nodes, [value(name, "float64") for name in given], [value(name, "float64") for name in outputs])
    wanted = [expected(names), 2 * expected(names)]
    for results in (
        pykernels.onnx.session(model).run(None, given),
        ReferenceEvaluator(model, new_ops=pykernels.onnx.reference_ops("combine")).run(None, given),
    ):
        for result, each in zip(results, wanted):
            np.testing.assert_array_equal(result, each)


def test_a_required_input_cannot_be_left_out() -> None:
    node = helper.make_node("combine", ["", "x"], ["y"], domain="pykernels")
    model = model_of([node], [value("x", "float64")], [value("y", "float64")])
    with pytest.raises(Exception, match=r"'x'|Required inputs"):
        pykernels.onnx.session(model).run(None, {"x": ARRAYS["x"]})
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    pykernels.onnx.register(options, "combine")
    with pytest.raises(Exception, match=r"x|Input"):
        onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, {"x": ARRAYS["x"]})
