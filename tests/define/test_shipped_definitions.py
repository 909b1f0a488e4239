"""The definitions of the ops that ship with the library."""

from __future__ import annotations

import re
import time

import pytest
import sbp
from definitions import F64, I32, infer, spec

from pykernels.base import paths
from pykernels.base.abi import OpFlag
from pykernels.base.errors import CallError
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import OpDef


def _ops(name: str) -> dict[str, OpDef]:
    return load_cpp_def(paths.OPS / name / f"{name}_cpp_def.cpp").ops


@pytest.mark.parametrize("name", ["dense", "leaky_relu", "relu", "sigmoid", "softmax"])
def test_shipped_definitions(name: str) -> None:
    forward, backward, *_ = _ops(name).values()
    assert (forward.name, backward.name) == (f"{name}_forward", f"{name}_backward")
    inputs = [[spec(3, 4)], [spec(5, 4)]] if name == "dense" else [[spec(3, 4)]]
    values = forward.parse_attributes({})
    outputs = forward.infer(inputs, values)
    plan = forward.plan_gradient(inputs, values, outputs=outputs)
    blobs = {f"I/{a.name}/0": s[0] for a, s in zip(forward.inputs, inputs)}
    blobs |= {f"{kind}/y/0": outputs[0][0] for kind in "OD"}
    gradients = backward.infer([[blobs[blob]] for _, blob in plan.ops[0].inputs], plan.ops[0].attributes)
    assert gradients == inputs
    assert set(plan.bindings) == {(a.name, 0) for a in forward.inputs}
    for op in (forward, backward):
        assert op.flags == OpFlag.INFERS_SHAPE | OpFlag.INFERS_DTYPE | OpFlag.HAS_SBP


def test_what_users_read_when_they_call_a_shipped_op_wrongly() -> None:
    ops = {**_ops("dense"), **_ops("sigmoid"), **_ops("softmax")}
    cases = [
        ("dense_forward", (spec(3), spec(5, 3)), {}, "data must have 2 axes (rows, inputs), but its shape is (3,)"),
        (
            "dense_forward",
            (spec(2, 3), spec(5)),
            {},
            "weight must have 2 axes (outputs, inputs), but its shape is (5,)",
        ),
        (
            "dense_forward",
            (spec(2, 3), spec(5, 4)),
            {},
            "weight must have the shape (outputs, inputs), here (5, 3), but has (5, 4)",
        ),
        ("dense_forward", (spec(2, 3), spec(5, 3, dtype=F64)), {}, "weight must have the dtype of data, float32"),
        ("sigmoid_forward", (spec(2, dtype=I32),), {}, "x must be floating point, but is int32"),
        ("sigmoid_backward", (spec(2), spec(3)), {}, "dy must have the shape of y, (2,), but has (3,)"),
        ("softmax_forward", (spec(2, 3),), {"axis": 2}, "axis is 2, but x has 2 axes (its shape is (2, 3))"),
        ("softmax_forward", (spec(),), {}, "x must have one axis or more, but has none"),
    ]
    for name, inputs, values, text in cases:
        with pytest.raises(CallError, match=re.escape(text)):
            infer(ops[name], *inputs, **values)


def test_how_shipped_ops_are_distributed() -> None:
    softmax = _ops("softmax")["softmax_forward"]
    split = sbp.signatures(softmax, [[spec(2, 3, 4)]], {"axis": 1})
    assert [set(signature.values()) for signature in split] == [{sbp.Split(0)}, {sbp.Split(2)}]
    dense = _ops("dense")["dense_forward"]
    plain, biased = (sbp.signatures(dense, [[spec(2, 3)], [spec(4, 3)]], {"bias": bias}) for bias in (0.0, 1.0))
    assert [signature["y", 0] for signature in plain] == [sbp.Split(0), sbp.Split(1), sbp.PartialSum()]
    assert biased == plain[:2]


def test_inference_is_quick_and_every_result_is_its_own() -> None:
    op = _ops("leaky_relu")["leaky_relu_forward"]
    values = op.parse_attributes({"alpha": "0.3"})
    assert values == {"alpha": 0.3}
    started = time.perf_counter()
    for size in range(500):
        assert op.infer([[spec(size)]], values) == [[spec(size)]]
    assert (time.perf_counter() - started) / 500 < 2e-3
