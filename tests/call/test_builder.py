"""`user_op_builder`: calls checked by name, run where the inputs live, with optional and repeated arguments."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError

DEFINITION = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
// y = scale * (sum of xs) [+ bias], also as n copies, and optionally its total.
REGISTER_USER_OP("mix_forward")
    .InputWithMinimum("xs", 1)
    .OptionalInput("bias")
    .Output("y")
    .OutputWithMinimum("copies", 1)
    .OptionalOutput("total")
    .Attr<float>("scale", 1.0)
    .Attr<std::string>("mode", "plain")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& shape = ctx->InputShape("xs", 0);
      ctx->SetOutputShape("y", 0, shape);
      FOR_RANGE(int32_t, i, 0, ctx->output_size("copies")) { ctx->SetOutputShape("copies", i, shape); }
      if (ctx->has_output("total", 0)) { ctx->SetOutputShape("total", 0, Shape({})); }
      return Maybe<void>::Ok();
    });
}  // namespace oneflow
"""
KERNEL = """
def forward(args, outs, *, scale, mode):
    xs, bias = args
    y, copies, total = outs
    y[...] = 0
    for x in xs:
        y += x
    y *= scale
    if bias is not None:
        y += bias
    if mode == "negative":
        y *= -1
    for copy in copies:
        copy[...] = y
    if total is not None:
        total[...] = y.sum()
"""
X = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.fixture(scope="module", autouse=True)
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("ops") / "mix"
    folder.mkdir()
    (folder / "mix_cpp_def.cpp").write_text(DEFINITION)
    (folder / "mix_py_kernel.py").write_text(textwrap.dedent(KERNEL))
    (folder / "mix_py_api.py").write_text("")
    pykernels.load_ops(paths.OPS, folder)
    yield folder
    pykernels.unload_ops()


def mix(xs: list[Any], copies: int = 1, *, bias: Any = None, total: bool = False, **attributes: Any) -> tuple[Any, ...]:
    builder = pykernels.user_op_builder("m").Op("mix_forward").Input("xs", xs).Output("y").Output("copies", copies)
    if bias is not None:
        builder.Input("bias", [bias])
    if total:
        builder.Output("total")
    for name, value in attributes.items():
        builder.Attr(name, value)
    return builder.Build().InferAndTryRun().RemoteBlobList()


@pytest.mark.thorough
def test_repeated_and_optional_arguments() -> None:
    y, copy = mix([X])
    np.testing.assert_array_equal([y, copy], [X, X])
    y, *copies, total = mix([X, 2 * X], 2, bias=X, total=True, scale=2.0, mode="negative")
    np.testing.assert_array_equal(y, -7 * X)
    np.testing.assert_array_equal(copies, [y, y])
    assert total == y.sum()


def test_the_same_in_mxnet() -> None:
    pytest.importorskip("mxnet.ndarray", reason="MXNet is not installed")
    import mxnet as mx

    x = mx.nd.array(X)
    y, *copies, total = mix([x, 2 * x], 2, bias=x, total=True, scale=2.0, mode="negative")
    np.testing.assert_array_equal(y.asnumpy(), -7 * X)
    np.testing.assert_array_equal([c.asnumpy() for c in copies], [-7 * X, -7 * X])
    assert total.asscalar() == -42


def test_outputs_come_in_the_order_asked_for() -> None:
    op = (
        pykernels.user_op_builder("d")
        .Op("dense_backward")
        .Input("dy", [np.ones((2, 4))])
        .Input("data", [np.ones((2, 3))])
        .Input("weight", [np.full((4, 3), 2.0)])
        .Output("dweight")
        .Output("ddata")
        .Build()
    )
    dweight, ddata = op.InferAndTryRun().RemoteBlobList()
    assert (dweight.shape, ddata.shape) == ((4, 3), (2, 3))
    blobs = op.RemoteBlobDict()
    assert list(blobs) == ["dweight", "ddata"] and blobs["ddata"][0] is ddata
    with pytest.raises(CallError, match=r"has 2 outputs here; take them with \.RemoteBlobList"):
        op.SoleOutputBlob()


def test_a_result_for_which_there_is_no_memory() -> None:
    dense = pykernels.user_op_builder("d").Op("dense_forward").Output("y").Function("data", "weight")
    with pytest.raises(
        CallError,
        match=r"dense_cpp_def.cpp:\d+ infers \(1048576, 1048576\) for its output 'y': Unable to allocate 8.00 TiB",
    ):
        dense(*np.ones((2, 2**20, 0)))


def test_a_function_is_described_once() -> None:
    dense = pykernels.user_op_builder("d").Op("dense_forward").Attr("bias", 1.0).Output("y").Function("data", "weight")
    for n in (2, 3):
        np.testing.assert_array_equal(dense(np.ones((n, 4)), np.ones((5, 4))), np.full((n, 5), 5.0))
    swapped = pykernels.user_op_builder("d").Op("dense_forward").Output("y").Function("weight", "data")
    assert swapped(np.ones((5, 4)), np.ones((2, 4))).shape == (2, 5)


def test_attributes_of_a_call_come_after_those_of_the_description() -> None:
    leaky_relu = pykernels.user_op_builder("l").Op("leaky_relu_forward").Attr("alpha", 0.5).Output("y").Function("x")
    x = np.float32([-8])
    assert [leaky_relu(x, alpha=0.25), leaky_relu(x), leaky_relu(x, alpha=-0.0), leaky_relu(x, alpha=0.0)] == [
        -2,
        -4,
        0,
        0,
    ]
    assert np.signbit(leaky_relu(x, alpha=0.0)) and not np.signbit(leaky_relu(x, alpha=-0.0))


def test_several_outputs_of_a_function_are_a_tuple() -> None:
    dropout = pykernels.user_op_builder("d").Op("dropout_forward")
    for function in (dropout.Function("x"), dropout.Output("y").Output("mask").Function("x")):
        y, mask = function(X, p=0.0)
        np.testing.assert_array_equal([y, mask], [X, np.ones_like(X)])
    np.testing.assert_array_equal(
        pykernels.user_op_builder("d").Op("dropout_forward").Output("mask").Function("x")(X), 1
    )


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda b: b.Function("x"), CallError, r"call \.Op\(op_type_name\) before"),
        (lambda b: b.Op("relu_forward").Function("z"), CallError, "has no input 'z'; its inputs are x"),
        (lambda b: b.Op("relu_forward").Function("x", "y"), CallError, "has no input 'y'"),
        (lambda b: b.Op("relu_forward").Function(), TypeError, "op 'relu_forward' is called with 1 tensors, not 0"),
        (lambda b: partial(b.Op("relu_forward").Function("x"), slope=1), CallError, "has no attribute 'slope'"),
        (lambda b: b.Op("softmax_forward").Attr("axis", []).Function("x"), CallError, "'axis' of op softmax_forward"),
    ],
)
def test_a_function_is_checked_as_calls_are(function: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        function(pykernels.user_op_builder("n"))(X)


@pytest.mark.parametrize("values", [(0.0, -0.0), (1, 1.0), (True, 1), ("1", 1)], ids=str)
def test_attributes_that_are_equal_but_not_the_same(values: tuple[Any, ...]) -> None:
    """Calls of one form are remembered; an equal number of another kind, or with another sign, is another form."""

    def result(value: Any) -> Any:
        builder = pykernels.user_op_builder("l").Op("leaky_relu_forward").Input("x", [-X]).Attr("alpha", value)
        try:
            return (builder.Output("y").Build().InferAndTryRun().SoleOutputBlob() + 0 * X).tobytes()
        except CallError as error:
            return str(error)

    alone = []
    for value in values:
        pykernels.load.loaded.plans.clear()
        alone.append(result(value))
    pykernels.load.loaded.plans.clear()
    assert [result(value) for value in values] == alone


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda b: b.Build(), r"'n': call \.Op\(op_type_name\) before \.Build\(\)"),
        (lambda b: b.Op("nothing_forward").Build(), "op 'nothing_forward' is not loaded. The loaded ops are: .*dense"),
        (lambda b: b.Op("relu_sideways").Build(), "op 'relu_sideways' is not loaded"),
        (lambda b: b.Op("relu_forward").Input("in", [X]).Build(), "has no input 'in'; its inputs are x"),
        (lambda b: b.Op("relu_forward").Input("x", X), r"Input\('x', ...\) takes a list of tensors, not a ndarray"),
        (lambda b: b.Op("relu_forward").Input("x", [X]).Output("z").Build(), "has no output 'z'; its outputs are y"),
        (lambda b: b.Output("y", 0), "the number must be 1 or more"),
        (lambda b: b.Op("relu_forward").Attr("alpha", 1).Build(), "relu_forward.*has no attribute.*alpha"),
        (
            lambda b: b.Op("leaky_relu_forward").Attr("alpha", "x").Build(),
            "'alpha' of op leaky_relu_forward .*'x' is not",
        ),
        (lambda b: b.Op("leaky_relu_forward").Attr("alfa", 1).Build(), "alfa.*did you mean.*alpha"),
        (lambda b: b.Op("relu_forward").Build().InferAndTryRun(), "'x' of op relu_forward takes 1.* 0 were"),
        (lambda b: b.Op("relu_forward").Input("x", [X, X]).Build().InferAndTryRun(), "'x' of .* takes 1 .* 2 were"),
        (lambda b: b.Op("relu_forward").Input("x", [X]).Build().RemoteBlobList(), r"call \.InferAndTryRun"),
        (
            lambda b: b.Op("relu_forward").Input("x", [[1.0]]).Build().InferAndTryRun(),
            "an input is a list, not an array",
        ),
    ],
)
def test_wrong_calls_are_refused(build: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        build(pykernels.user_op_builder("n"))


def test_frameworks_do_not_mix() -> None:
    pytest.importorskip("mxnet.ndarray", reason="MXNet is not installed")
    import mxnet as mx

    with pytest.raises(CallError, match="its inputs belong to different frameworks: mxnet, numpy"):
        mix([X, mx.nd.array(X)])
