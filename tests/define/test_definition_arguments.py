"""C++ definitions: repeated and optional arguments, and gradients that depend on what is known of them."""

from __future__ import annotations

import re

import pytest
from definitions import F64, load, spec

from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.declared import Argument
from pykernels.define.definition import Definition
from pykernels.define.instance import TensorSpec

ARGUMENTS = """
REGISTER_USER_OP("gather_forward")
    .InputWithMinimum("parts", 2)
    .OptionalInput("bias")
    .Input("pair", 2)
    .OptionalInputWithMinimum("extra", 1)
    .Output("y")
    .OutputWithMinimum("copies", 1)
    .OptionalOutput("stats")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(ctx->has_input("bias", 0), ctx->TensorDesc4ArgNameAndIndex("bias", 0) != nullptr);
      CHECK_OR_RETURN(!ctx->has_input("unheard_of", 0));
      int64_t rows = 100 * ctx->has_input("bias", 0) + 1000 * ctx->input_size("extra");
      for (const auto& key : ctx->inputs()) { rows += ctx->InputShape(key.first, key.second).At(0); }
      FOR_RANGE(int32_t, i, 0, ctx->output_size("copies")) { ctx->SetOutputShape("copies", i, Shape({i})); }
      ctx->SetOutputShape("y", 0, Shape({rows}));
      if (ctx->has_output("stats", 0)) { ctx->SetOutputShape("stats", 0, Shape({})); }
      return Maybe<void>::Ok();
    });

void PlanGather(const user_op::UserOpWrapper& op, user_op::AddOpFn add) {
  const int32_t n = op.input_size("parts");
  user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
  builder.Op("split_like").Input("in", op.GetGradTensorWithOpOutput("y", 0));
  FOR_RANGE(int32_t, i, 0, n) { builder.Input("like", op.input("parts", i)); }
  const auto grad = builder.Output("out", n).Build();
  FOR_RANGE(int32_t, i, 0, n) { op.BindGradTensorWithOpInput(grad.output("out", i), "parts", i); }
  add(grad);
}
REGISTER_USER_OP_GRAD("gather_forward").SetGenBackwardOpConfFn(PlanGather);

REGISTER_USER_OP("sized_forward").Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP_GRAD("sized_forward").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const std::string name = ctx->FwOp().TensorDesc4ArgNameAndIndex("x", 0).shape().NumAxes() > 1 ? "wide" : "flat";
  ctx->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName(name).InputBind("dy", ctx->FwOp().output_grad("y", 0)).Output("dx").Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&] { return ctx->GetOp(name).output("dx", 0); });
});
// Its gradient is that of its output.
REGISTER_USER_OP("same").Input("x").Output("y").SetTensorDescInferFn(user_op::TensorDescInferFnUtil::InOutCorrespond);
REGISTER_USER_OP_GRAD("same").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0),
                            [&]() -> const std::string& { return ctx->FwOp().output_grad("y", 0); });
});
REGISTER_USER_OP("sum").InputWithMinimum("in", 1).Output("out")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
"""


@pytest.fixture(scope="module")
def arguments() -> Definition:
    return load("arguments", ARGUMENTS)


@pytest.mark.thorough
def test_repeated_and_optional_arguments(arguments: Definition) -> None:
    gather = arguments.ops["gather_forward"]
    assert gather.schema() == "gather_forward(parts[2+], bias?, pair[2], extra[1+]?) -> (y, copies[1+], stats?)"
    assert gather.inputs == (
        Argument("parts", 2, variadic=True),
        Argument("bias", optional=True),
        Argument("pair", 2),
        Argument("extra", 1, variadic=True, optional=True),
    )
    assert [argument.repeated for argument in gather.inputs] == [True, False, True, True]
    one = spec(1)
    assert gather.infer([[one, one], [], [one, one], []], {}) == [[spec(4)], [spec(0)], [spec()]]
    full = gather.infer([[one] * 3, [one], [one, one], [one] * 2], {}, counts=(1, 2, 0))
    assert full == [[spec(100 + 2000 + 8)], [spec(0), spec(1)], []]


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (([1], [], [1, 1], []), "input 'parts' of op gather_forward takes 2 or more tensors, but 1 were given"),
        (([1, 1], [1, 1], [1, 1], []), "input 'bias' of op gather_forward takes 1 tensors, but 2 were given"),
        (([1, 1], [], [1], []), "input 'pair' of op gather_forward takes 2 tensors, but 1 were given"),
        (([1, 1], [], [1, 1]), "op gather_forward takes 4 inputs, but 3 were given: gather_forward("),
    ],
)
def test_wrong_numbers_of_inputs(arguments: Definition, inputs: tuple[list[int], ...], text: str) -> None:
    with pytest.raises(CallError, match=re.escape(text)):
        arguments.ops["gather_forward"].infer([[spec(1)] * len(tensors) for tensors in inputs], {})


def test_wrong_numbers_of_outputs(arguments: Definition) -> None:
    gather, one = arguments.ops["gather_forward"], spec(1)
    inputs = [[one, one], [], [one, one], []]
    with pytest.raises(CallError, match="output 'copies' of op gather_forward cannot have 0 tensors"):
        gather.infer(inputs, {}, counts=(1, 0, 1))
    with pytest.raises(CallError, match="op gather_forward has 3 outputs, not 1"):
        gather.infer(inputs, {}, counts=(1,))


def test_a_gradient_for_every_tensor_of_a_repeated_input(arguments: Definition) -> None:
    gather, unknown = arguments.ops["gather_forward"], TensorSpec(None, None)
    # Shapes are not needed, but how many tensors there are is.
    plan = gather.plan_gradient([[unknown] * 3, [], [unknown] * 2, []], {})
    assert plan.ops[0].inputs == (
        ("in", "D/y/0"),
        *(("like", f"I/parts/{i}") for i in range(3)),
    )
    assert plan.ops[0].outputs == (("out", 3),)
    assert plan.bindings == {("parts", i): f"gather_forward_grad/out_{i}" for i in range(3)}
    with pytest.raises(DefinitionError, match="how many tensors 'parts' of op gather_forward stands for is not known"):
        gather.plan_gradient(None, {})


def test_a_gradient_that_depends_on_shapes(arguments: Definition) -> None:
    sized = arguments.ops["sized_forward"]
    assert sized.plan_gradient([[spec(2, 2)]], {}).ops[0].type == "wide"
    assert sized.plan_gradient([[spec(2)]], {}).ops[0].type == "flat"
    at = rf"^{re.escape(sized.file)}:\d+: the gradient of op sized_forward: arguments_cpp_def.cpp:\d+: "
    for unknown in (None, [[TensorSpec(None, None)]]):
        with pytest.raises(DefinitionError, match=at + "the shape of .*'x' is not known yet"):
            sized.plan_gradient(unknown, {})


def test_a_gradient_without_an_op(arguments: Definition) -> None:
    plan = arguments.ops["same"].plan_gradient(None, {})
    assert (plan.ops, plan.bindings) == ((), {("x", 0): "D/y/0"})


def test_inputs_that_should_be_alike(arguments: Definition) -> None:
    total = arguments.ops["sum"]
    assert total.infer([[spec(2), spec(2)]], {}) == [[spec(2)]]
    with pytest.raises(
        CallError, match=r"input 'in' number 1 must have the shape of input 'in', \(2,\), but has \(3,\)"
    ):
        total.infer([[spec(2), spec(3)]], {})
    with pytest.raises(CallError, match="must have the dtype of input 'in', float32, but has float64"):
        total.infer([[spec(2), spec(2, dtype=F64)]], {})
