"""Definitions whose arguments have tensor types: what follows from the types, and what is wrong with them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sbp
from definitions import F32, F64, I32, INCLUDE, infer, line_of, load, spec, write

from pykernels.base.abi import OpFlag
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import Definition
from pykernels.define.tangent_plan import plan_tangent

BOOL, F16, C64, C128 = map(np.dtype, ("bool", "float16", "complex64", "complex128"))

OPS = """
REGISTER_USER_OP("pool_forward")
    .Input("x", "floating[batch, length]")
    .OptionalInput("mask", "bool[batch]")
    .Output("y", "floating[batch, (length - window) // stride + 1]")
    .Output("index", "int64[batch, 1 + (length - window) // stride]")
    .Attr<int32_t>("window")
    .Attr<int64_t>("stride", 1)
    .Require("0 < window <= length and stride >= 1")
    .Backward("x, mask, index, dy -> dx")
    .Backward("index, gdx -> gdy")
    .Tangent("index, tx -> ty")
    .Tangent("index, tdy, x -> tdx");

REGISTER_USER_OP("resize_forward")
    .Input("image", "any[batch, height, ...]")
    .Output("y", "any[batch, size[0], size[1] * height, image.ndim % 4]")
    .Attr<Shape>("size");

REGISTER_USER_OP("add_forward")
    .Input("a", "number[broadcast, channels]")
    .Input("b", "number[broadcast, channels]")
    .Output("y", "number[broadcast, channels]")
    .Split("broadcast")
    .Split("channels")
    .Backward("a, b, dy -> da, db");

REGISTER_USER_OP("sum_forward")
    .Input("x", "floating[rows, ... with axis = n]")
    .Output("total", "floating[rows, ... without axis]")
    .Output("half", "floating[rows, ... with axis = n // 2]")
    .Attr<int32_t>("axis", -1)
    .Split("rows")
    .Split("...")
    .Split("n", "axis == 0")
    .Backward("x, dtotal -> dx");

REGISTER_USER_OP("join_forward")
    .InputWithMinimum("parts", "floating[..., 3]", 1)
    .Input("scale", "floating[]")
    .Output("y", "floating[..., 3]")
    .Split("...")
    .Backward("parts, scale, dy -> dparts");

REGISTER_USER_OP("turn_forward")
    .Input("x", "inexact[n]")
    .Input("angle", "floating[n]")
    .Output("y", "complex[n]")
    .Output("same", "inexact[n]")
    .Backward("x, angle, dy -> dx, dangle");

REGISTER_USER_OP("size_forward")
    .Input("z", "complex[n]")
    .Output("y", "floating[n]");

REGISTER_USER_OP("written_out_forward")
    .Input("x", "floating[n]")
    .Output("y", "floating[n]")
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("y", 0, Shape({7}));
      return Maybe<void>::Ok();
    });
"""


@pytest.fixture(scope="module")
def ops() -> Definition:
    return load("typed", OPS)


def test_lengths_are_formulas_of_named_axes_and_attributes(ops: Definition) -> None:
    op = ops.ops["pool_forward"]
    attributes = op.parse_attributes({"window": 3, "stride": 2})
    for mask in ([], [spec(4, dtype=BOOL)]):
        assert op.infer([[spec(4, 9)], mask], attributes) == [[spec(4, 4)], [spec(4, 4, dtype=np.dtype("int64"))]]
    resize = ops.ops["resize_forward"]
    assert infer(resize, spec(5, 6, 1, dtype=I32), size=(7, 2)) == [[spec(5, 7, 12, 3, dtype=I32)]]


def test_axes_are_broadcast_together(ops: Definition) -> None:
    op, backward = ops.ops["add_forward"], ops.ops["add_backward"]
    assert infer(op, spec(4, 1, 3), spec(5, 3)) == [[spec(4, 5, 3)]]
    # A gradient has the shape of its input.
    assert infer(backward, spec(4, 1, 3), spec(5, 3), spec(4, 5, 3)) == [[spec(4, 1, 3)], [spec(5, 3)]]
    with pytest.raises(CallError, match=r"b has the shape \(2,\), which cannot be broadcast together with \(4, 5\)"):
        infer(op, spec(4, 5, 3), spec(2, 3))


@pytest.mark.parametrize("axis", [-2, 0])
def test_an_attribute_selects_an_axis(ops: Definition, axis: int) -> None:
    op = ops.ops["sum_forward"]
    assert infer(op, spec(2, 6, 5), axis=axis) == [[spec(2, 5)], [spec(2, 3, 5)]]
    assert infer(ops.ops["sum_backward"], spec(2, 6, 5), spec(2, 5), axis=axis) == [[spec(2, 6, 5)]]


def test_floating_and_complex_numbers_have_one_precision(ops: Definition) -> None:
    turn, back, size = (ops.ops[name] for name in ("turn_forward", "turn_backward", "size_forward"))
    for real, numbers in ((F32, C64), (F64, C128)):
        x, z = spec(4, dtype=real), spec(4, dtype=numbers)
        for given in (x, z):
            assert infer(turn, given, x) == [[z], [given]]
            assert infer(back, given, x, z) == [[given], [x]]
        assert infer(size, z) == [[x]]


def test_a_type_of_a_repeated_argument_holds_for_each_tensor(ops: Definition) -> None:
    op = ops.ops["join_forward"]
    assert op.infer([[spec(2, 3), spec(2, 3)], [spec()]], {}) == [[spec(2, 3)]]
    with pytest.raises(CallError, match=re.escape("parts[1] must have the shape of parts, (2, 3), but has (4, 3)")):
        op.infer([[spec(2, 3), spec(4, 3)], [spec()]], {})


def test_functions_of_a_definition_take_the_place_of_types(ops: Definition) -> None:
    assert infer(ops.ops["written_out_forward"], spec(2)) == [[spec(7)]]
    with pytest.raises(CallError, match="x must be floating point"):
        infer(ops.ops["written_out_forward"], spec(2, dtype=I32))


def test_backward_plans_the_gradient(ops: Definition) -> None:
    op, backward = ops.ops["pool_forward"], ops.ops["pool_backward"]
    assert backward.schema() == ("pool_backward(x, mask?, index, dy, *, window: int32, stride: int64 = 1) -> dx")
    attributes = op.parse_attributes({"window": 3})
    for mask in ([], [spec(4, dtype=BOOL)]):
        inputs = [[spec(4, 9)], mask]
        plan = op.plan_gradient(inputs, attributes, outputs=op.infer(inputs, attributes))
        wanted = [("x", "I/x/0"), *[("mask", "I/mask/0") for _ in mask], ("index", "O/index/0"), ("dy", "D/y/0")]
        assert plan.ops[0].type == "pool_backward"
        assert list(plan.ops[0].inputs) == wanted
        assert plan.ops[0].attributes == attributes
        assert set(plan.bindings) == {("x", 0)}
    join = ops.ops["join_forward"]
    inputs = [[spec(2, 3), spec(2, 3)], [spec()]]
    plan = join.plan_gradient(inputs, {}, outputs=join.infer(inputs, {}))
    assert set(plan.bindings) == {("parts", 0), ("parts", 1)}


def test_a_second_backward_plans_the_gradient_of_the_backward_op(ops: Definition) -> None:
    backward, second = ops.ops["pool_backward"], ops.ops["pool_backward_backward"]
    assert second.schema() == ("pool_backward_backward(index, gdx, *, window: int32, stride: int64 = 1) -> gdy")
    inputs = [[spec(4, 9)], [], [spec(4, 7, dtype=np.dtype("int64"))], [spec(4, 7)]]
    attributes = backward.parse_attributes({"window": 3})
    plan = backward.plan_gradient(inputs, attributes, outputs=backward.infer(inputs, attributes))
    assert plan.ops[0].type == "pool_backward_backward"
    assert list(plan.ops[0].inputs) == [("index", "I/index/0"), ("gdx", "D/dx/0")]
    assert set(plan.bindings) == {("dy", 0)}


def test_ops_that_compute_tangents(ops: Definition) -> None:
    plan = plan_tangent(ops.ops["pool_forward"])
    assert plan is not None
    assert plan.op.schema() == "pool_tangent(index, tx, *, window: int32, stride: int64 = 1) -> ty"
    assert plan.inputs(["x", "mask"], ["y", "index"], ["tx", "tmask"]) == ["index", "tx"]
    assert plan.outputs() == [0]
    index, tx = spec(4, 7, dtype=np.dtype("int64")), spec(4, 9)
    assert plan.op.infer([[index], [tx]], plan.op.parse_attributes({"window": 3})) == [[spec(4, 7)]]
    # A further line is for the backward op.
    plan = plan_tangent(ops.ops["pool_backward"])
    assert plan is not None and plan.op.name == "pool_backward_tangent"
    assert plan_tangent(ops.ops["resize_forward"]) is None


def test_axes_along_which_an_op_is_split(ops: Definition) -> None:
    split, whole, parts = sbp.Split, sbp.Broadcast(), sbp.PartialSum()

    def ways(name: str, *inputs: Any, **attributes: Any) -> list[tuple[Any, ...]]:
        op = ops.ops[name]
        found = sbp.signatures(op, [[one] for one in inputs], op.parse_attributes(attributes))
        return [tuple(signature.values()) for signature in found]

    assert ways("sum_forward", spec(2, 6, 5), axis=1) == [
        (split(0), split(0), split(0)),
        (split(1), split(1), split(1)),
    ]
    assert ways("sum_forward", spec(2, 6, 5, 4), axis=1)[1:] == [
        (split(i), split(j), split(i)) for i, j in [(1, 1), (3, 2)]
    ]
    assert ways("add_forward", spec(4, 1, 3), spec(5, 3)) == [
        (split(0), whole, split(0)),
        (whole, split(0), split(1)),
        (split(2), split(1), split(2)),
    ]
    assert ways("add_backward", spec(4, 1, 3), spec(5, 3), spec(4, 5, 3))[0] == (
        split(0),
        whole,
        split(0),
        split(0),
        parts,
    )
    assert ways("join_forward", spec(2, 3), spec()) == [(split(0), whole, split(0))]
    assert ops.ops["pool_forward"].flags == OpFlag.INFERS_SHAPE | OpFlag.INFERS_DTYPE


@pytest.mark.parametrize(
    ("name", "inputs", "attributes", "message"),
    [
        ("pool_forward", [spec(9)], {}, "x must have 2 axes (batch, length), but its shape is (9,)"),
        ("pool_forward", [spec(4, 9, dtype=I32)], {}, "x must be floating point, but is int32"),
        ("pool_forward", [spec(4, 2)], {}, "<= length and stride >= 1, but window is 3 and length is 2"),
        ("resize_forward", [spec(5, 6)], {"size": (7,)}, "size must have 2 numbers or more, but has 1"),
        ("resize_forward", [spec(5)], {"size": (7, 2)}, "image must have 2 axes or more (batch, height, ...), but"),
        ("sum_forward", [spec(2, 6)], {"axis": 1}, "axis is 1, but x has 2 axes (its shape is (2, 6))"),
        ("sum_forward", [spec(2)], {}, "x must have one axis or more, but has none"),
        ("add_forward", [spec(3), spec(4)], {}, "b must have the shape of a, (3,), but has (4,)"),
        ("add_forward", [spec(3), spec(3, dtype=F64)], {}, "b must have the dtype of a, float32, but is float64"),
        ("turn_forward", [spec(3, dtype=C64), spec(3, dtype=F64)], {},
         "angle must have the precision of x, complex64, but is float64"),
        ("turn_forward", [spec(3, dtype=F16)] * 2, {},
         "'y' is complex, but there are no complex numbers with the precision of x, float16"),
        ("size_forward", [spec(3)], {}, "z must be complex, but is float32"),
        ("resize_forward", [spec(5, 6, dtype=C64)], {"size": (7, 2)}, "image must be of any dtype that is not"),
        ("add_forward", [spec(3, dtype=BOOL)] * 2, {}, "a must be of floating-point or integer numbers, but is bool"),
    ],
)  # fmt: skip
def test_a_call_that_does_not_fit_is_refused(
    ops: Definition, name: str, inputs: list[Any], attributes: dict[str, Any], message: str
) -> None:
    op = ops.ops[name]
    tensors = [[one] for one in inputs] + ([[]] if name == "pool_forward" else [])
    with pytest.raises(CallError, match=re.escape(message)) as error:
        op.infer(tensors, op.parse_attributes({"window": 3} if name == "pool_forward" else attributes))
    assert re.search(r"typed_cpp_def\.cpp:\d+: ", str(error.value))


# Each line is an op of its own, with the problem that loading it names.
WRONG = [
    ('.Input("x", "floating")', "'floating' is not a tensor type, such as floating[rows, columns]"),
    ('.Input("x", "flaoting[n]")', "'flaoting' in 'flaoting[n]' is not a dtype: write floating, complex"),
    ('.Input("x", "floating[n +]")', "'n +' lacks a number or a name at its end"),
    ('.Input("x", "floating[(n]")', "'(n' lacks a ')'"),
    ('.Input("x", "floating[n $ 2]")', "'n $ 2' cannot be read from '$ 2' on"),
    ('.Input("x", "floating[..., n, ...]")', "'floating[..., n, ...]' says twice 'any number of axes'"),
    ('.Input("x", "floating[... but axis]")', "is neither '... with axis = length' nor '... without axis'"),
    ('.Input("x", "floating[... without axis]")', "'axis' in 'floating[... without axis]' must be an attribute"),
    ('.Input("x", "floating[n]").Input("z")', "'z' has no type, unlike other arguments"),
    ('.Input("x", "floating[n]").Output("y", "floating[m]")', "'m' in 'm' is neither an axis of an input nor"),
    ('.Input("x", "floating[n]").Output("y", "integer[n]")', "'y' is integer, which no input is: name its dtype"),
    ('.Input("x", "complex[n]").Output("y", "inexact[n]")', "'y' is inexact, which no input is: name its dtype"),
    ('.Input("x", "floating[n]").Output("y", "floating[...]")', "'y': no input has '...'"),
    ('.Input("x", "floating[n]").Split("m")', "Split: no input has the axis 'm'"),
    ('.Input("x", "floating[n]").Require("k > 0")', "'k' in 'k > 0' is neither an axis of an input nor an attribute"),
    ('.Input("x", "floating[n]").Backward("x, dy")', "Backward: 'x, dy' lacks '->', as in \"x, dy -> dx\""),
    ('.Input("x", "floating[n]").Backward("z -> dx")', "Backward: 'z' is no input or output of op "),
    ('.Input("x", "floating[n]").Backward("x -> dz")', "Backward: 'dz' is not the gradient of an input of op "),
    ('.Input("x", "floating[n]").Tangent("dx -> ty")', "Tangent: 'dx' is no input or output of op "),
    ('.Input("x", "floating[n]").Tangent("tx -> tx")', "Tangent: 'tx' is not the tangent of an output of op "),
    ('.Input("x", "floating[n]").Tangent("tx ->").Tangent("tx ->")', "the second line is that of the backward op"),
    ('.Input("x", "floating[broadcast]").Output("y", "floating[broadcast]").Backward("dy -> dx")',
     "the gradient of 'x' has its shape, so it depends on it: add x before '->'"),
]  # fmt: skip


def test_problems_of_types_are_all_named_with_their_lines() -> None:
    text = "".join(f'REGISTER_USER_OP("wrong{i}_forward")\n{chain};\n' for i, (chain, _) in enumerate(WRONG))
    text += 'REGISTER_USER_OP("unnamed").Input("x", "floating[n]").Backward("x -> dx");\n'
    path = write("typed_wrongly", text, before=INCLUDE, after="")
    with pytest.raises(DefinitionError) as error:
        load_cpp_def(path)
    for chain, problem in [*WRONG, ('"unnamed"', "Backward: the name of op unnamed must end in _forward")]:
        place = f"typed_wrongly_cpp_def.cpp:{line_of(path, chain)}: "
        assert any(place in line and problem in line for line in str(error.value).splitlines()), problem
