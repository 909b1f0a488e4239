"""Calls with the wrong inputs: the error names the op and the inputs that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import mxnet as mx
import process
import pytest
from classes import SigmoidProp
from folders import write_op

import pykernels
from pykernels.base import paths

JOIN = """
    import pykernels


    class Join(pykernels.CustomOpProp):
        def list_arguments(self):
            return ["a", "b"]

        def list_auxiliary_states(self):
            return ["calls"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0]], [[1]]
"""
REPEATED = """
#include "oneflow/core/framework/framework.h"
REGISTER_USER_OP("input_errors_sum_forward").InputWithMinimum("x", 2).Output("y")
    .SetLogicalTensorDescInferFn(oneflow::user_op::TensorDescInferFnUtil::Unchanged);
"""


@pytest.fixture(scope="module", autouse=True)
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    parent = tmp_path_factory.mktemp("ops")
    repeated = write_op(parent, "input_errors_sum", "def forward(args):\n    return args[0][0] + args[0][1]\n")
    (repeated / "input_errors_sum_py_def.py").unlink()
    (repeated / "input_errors_sum_cpp_def.cpp").write_text(REPEATED)
    kernel = "def forward(args):\n    return args[0] * 1\n\ndef backward(args):\n    return args[0], args[0]\n"
    write_op(parent, "input_errors_join", kernel, JOIN)
    pykernels.load_ops(paths.OPS, parent)
    pykernels.register("input_errors_class")(SigmoidProp)
    yield
    pykernels.unload_ops("input_errors_sum", "input_errors_join")


@mx.operator.register("input_errors_of_mxnet")
class TheirProp(mx.operator.CustomOpProp):
    """An op that is not ours."""


X, S = mx.nd.ones((2, 3)), mx.sym.var("s")
NX, NS = X.as_np_ndarray(), S.as_np_ndarray()


class Block(mx.gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Custom(x, x, x, op_type="dense")


def hybridized() -> Any:
    block = Block()
    block.hybridize()
    return block(X)


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "misspelt": (lambda: mx.nd.Custom(X, op_type="dence"), "there is no op 'dence'; did you mean 'dense'?"),
    "too few": (lambda: mx.nd.Custom(X, op_type="dense"), "op 'dense' takes 2 inputs (data, weight), got 1"),
    "too many": (lambda: mx.nd.Custom(X, X, X, op_type="dense"), "op 'dense' takes 2 inputs (data, weight), got 3"),
    "none": (lambda: mx.nd.Custom(op_type="relu"), "op 'relu' takes 1 input (x), got 0"),
    "attributes": (
        lambda: mx.nd.Custom(X, X, op_type="leaky_relu", alpha=0.5, name="me"),
        "op 'leaky_relu' takes 1 input (x), got 2",
    ),
    "op type": (lambda: mx.nd.Custom(X, op_type="relu_backward"), "op 'relu_backward' takes 2 inputs (y, dy), got 1"),
    "states": (
        lambda: mx.nd.Custom(X, X, op_type="input_errors_join"),
        "op 'input_errors_join' takes 3 inputs (a, b, calls), got 2",
    ),
    "repeated": (
        lambda: mx.nd.Custom(X, X, X, op_type="input_errors_sum"),
        "op 'input_errors_sum' takes 2 inputs (x_0, x_1), got 3; with num_args=3 it takes x_0, x_1, x_2",
    ),
    "repeated, told": (
        lambda: mx.nd.Custom(X, X, op_type="input_errors_sum", num_args=4),
        "op 'input_errors_sum' takes 4 inputs (x_0, x_1, x_2, x_3), got 2; with num_args=2 it takes x_0, x_1",
    ),
    "class": (
        lambda: mx.nd.Custom(op_type="input_errors_class"),
        "op 'input_errors_class' takes 1 input (data), got 0",
    ),
    "symbol": (lambda: mx.sym.Custom(S, S, S, op_type="dense"), "op 'dense' takes 2 inputs (data, weight), got 3"),
    "symbol of a class": (
        lambda: mx.sym.Custom(S, S, op_type="input_errors_class"),
        "op 'input_errors_class' takes 1 input (data), got 2",
    ),
    "symbol by name": (
        lambda: mx.sym.Custom(data=S, wieght=S, op_type="dense", name="me"),
        "op 'dense' takes 2 inputs (data, weight), but none called 'wieght'",
    ),
    "mx.np": (
        lambda: mx.nd.np._internal.Custom(NX, op_type="dense"),
        "op 'dense' takes 2 inputs (data, weight), got 1",
    ),
    "mx.sym.np": (
        lambda: mx.sym.np._internal.Custom(NS, NS, NS, op_type="dense"),
        "op 'dense' takes 2 inputs (data, weight), got 3",
    ),
    "block": (lambda: Block()(X), "op 'dense' takes 2 inputs (data, weight), got 3"),
    "hybridized block": (hybridized, "op 'dense' takes 2 inputs (data, weight), got 3"),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_op_and_its_inputs_are_named(case: str) -> None:
    call, told = CALLS[case]
    with pytest.raises(mx.MXNetError) as caught:
        call()
    first, _, rest = str(caught.value).partition("\n")
    assert first == f"{told} [PK400]"
    assert type(caught.value) is mx.MXNetError
    assert type(caught.value.__cause__) is mx.MXNetError
    assert rest == str(caught.value.__cause__), "what MXNet has said"
    assert mx.nd.Custom(X, op_type="relu").asnumpy().all()


def test_under_a_prefix_and_attributes_of_the_graph() -> None:
    told = r"^op 'dense' takes 2 inputs \(data, weight\), got 3 \[PK400\]\n"
    with mx.name.Prefix("net_"), mx.AttrScope(ctx_group="a"), pytest.raises(mx.MXNetError, match=told):
        mx.sym.Custom(S, S, S, op_type="dense")


def test_other_errors_and_ops_are_left_alone() -> None:
    for call, told in (
        (lambda: mx.nd.Custom(op_type="input_errors_of_mxnet"), "^Traceback.*Operator Custom expects 1 inputs"),
        (lambda: mx.sym.Custom(S, S, op_type="input_errors_of_mxnet"), r"^\[.*requires 1, provided 2"),
        (lambda: mx.nd.Custom(X, op_type="leaky_relu", alhpa=1), "^MXNetError: op 'leaky_relu' has no attribute"),
    ):
        with pytest.raises(mx.MXNetError, match=f"(?s){told}") as caught:
            call()
        assert caught.value.__cause__ is None
    with pytest.raises(AssertionError, match="must have NDArray type"):
        mx.nd.Custom(1, op_type="relu")
    with pytest.raises(mx.MXNetError, match="(?s)^Traceback.*expects 1 inputs, but got 0"):
        mx.nd.flatten()


def test_what_the_functions_say_of_themselves() -> None:
    for function, module in ((mx.nd.Custom, "ndarray"), (mx.sym.Custom, "symbol")):
        assert (function.__name__, function.__module__) == ("Custom", module)
        assert str(inspect.signature(function)) == "(*data, **kwargs)"
        assert "Apply a custom operator" in function.__doc__
    assert mx.nd.op.Custom is mx.nd.Custom and mx.sym.op.Custom is mx.sym.Custom


@pytest.mark.thorough
def test_mxnets_functions_come_back(tmp_path: Any) -> None:
    process.program(
        f"""
import pykernels.compat.mxnet
import mxnet as mx
import pykernels

modules = (mx.nd, mx.nd.op, mx.nd.np._internal, mx.sym, mx.sym.op, mx.sym.np._internal)
before = [module.Custom for module in modules]
for _ in range(2):
    pykernels.load_ops({str(paths.OPS)!r})
    assert not any(module.Custom is was for module, was in zip(modules, before))
    mx.nd.Custom(mx.nd.ones(1), op_type="relu").wait_to_read()
    pykernels.unload_ops("relu")
    assert mx.nd.Custom is not before[0], "others are still loaded"
    pykernels.unload_ops(*pykernels.list_ops())
    assert all(module.Custom is was for module, was in zip(modules, before))
pykernels.load_ops({str(paths.OPS)!r})
mx.nd.Custom = mine = lambda *inputs, **keywords: "mine"
pykernels.unload_ops(*pykernels.list_ops())
assert mx.nd.Custom is mine, "what somebody else has put there stays"
assert mx.sym.Custom is before[3]
""",
        cwd=tmp_path,
    )
