"""C++ definitions in OneFlow's registration language, old and new spellings, and what is read back from them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sbp
from definitions import F32, F64, I32, infer, line_of, load, spec

from pykernels.base.abi import OpFlag
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.definition import Definition
from pykernels.define.instance import TensorSpec

# ---- legacy and modern spellings

LEGACY = """
void CheckSameAxes(const Shape* a, const Shape* b) { CHECK_EQ(a->NumAxes(), b->NumAxes()) << "ranks differ"; }

REGISTER_USER_OP("blend_forward")
    .Input("a")
    .Input("b")
    .Input("mask")
    .Output("out")
    .Attr("weight", UserOpAttrType::kAtFloat, 0.25)
    .Attr<bool>("exact", kAtBool, true)
    .Attr("rows", UserOpAttrType::kAtInt64)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape* a = ctx->Shape4ArgNameAndIndex("a", 0);
      CheckSameAxes(a, ctx->Shape4ArgNameAndIndex("b", 0));
      auto* out = ctx->Shape4ArgNameAndIndex("out", 0);
      *out = *a;
      FOR_RANGE(int64_t, i, 0, out->NumAxes()) {
        out->Set(i, std::max(a->At(i), ctx->Shape4ArgNameAndIndex("b", 0)->At(i)));
      }
      *ctx->Dtype4ArgNameAndIndex("out", 0) = *ctx->Dtype4ArgNameAndIndex("a", 0);
      *ctx->IsDynamic4ArgNameAndIndex("out", 0) = *ctx->IsDynamic4ArgNameAndIndex("a", 0);
      return Maybe<void>::Ok();
    })
    .SetBatchAxisInferFn([](user_op::BatchAxisContext* ctx) -> Maybe<void> {
      *ctx->BatchAxis4ArgNameAndIndex("out", 0) = *ctx->BatchAxis4ArgNameAndIndex("a", 0);
      return Maybe<void>::Ok();
    })
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      user_op::InputArgModifier* mask = get("mask", 0);
      CHECK_NOTNULL(mask)->set_requires_grad(false);
    })
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper& def, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      CHECK_OR_RETURN(def.IsAttrName("weight"));
      CHECK_LE_OR_RETURN(conf.attr<float>("weight"), 1) << "weight is a share";
      return Maybe<void>::Ok();
    })
    .SetOutputBufferNum(1)
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      const user_op::TensorDesc& a = ctx->LogicalTensorDesc4InputArgNameAndIndex("a", 0);
      FOR_RANGE(int64_t, i, 0, a.shape().NumAxes()) {
        ctx->NewBuilder().Split(ctx->inputs(), i).Split(user_op::OpArg("out", 0), i).Build();
      }
      std::vector<user_op::OpArg> both;
      both.emplace_back("a", 0);
      both.emplace_back("b", 0);
      ctx->NewBuilder().PartialSum(both).Broadcast(user_op::OpArg("mask", 0)).PartialSum(ctx->outputs()).Build();
      return Maybe<void>::Ok();
    });

REGISTER_CPU_ONLY_USER_OP("blend_backward")
    .Input("dy").Input("mask").Output("da").Output("db").Attr("weight", UserOpAttrType::kAtFloat, 0.25f)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const user_op::TensorDesc* dy = ctx->TensorDesc4ArgNameAndIndex("dy", 0);
      *ctx->TensorDesc4ArgNameAndIndex("da", 0) = *dy;
      user_op::TensorDesc* db = ctx->TensorDesc4ArgNameAndIndex("db", 0);
      *db->mut_shape() = dy->shape();
      *db->mut_data_type() = DataType::kDouble;
      db->set_is_dynamic(dy->is_dynamic());
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP_GRAD("blend_forward")
    .SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
      if (op.NeedGenGradTensor4OpInput("a", 0) || op.NeedGenGradTensor4OpInput("b", 0)) {
        user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
        user_op::UserOpConfWrapper grad_op = builder.Op("blend_backward")
                                                 .Input("dy", op.GetGradTensorWithOpOutput("out", 0))
                                                 .Input("mask", op.input("mask", 0))
                                                 .Output("da")
                                                 .Output("db")
                                                 .Attr("weight", op.attr<float>("weight"))
                                                 .Build();
        op.BindGradTensorWithOpInput(grad_op.output("da", 0), "a", 0);
        op.BindGradTensorWithOpInput(grad_op.output("db", 0), "b", 0);
        AddOp(grad_op);
      }
      if (op.NeedGenGradTensor4OpInput("mask", 0)) { UNIMPLEMENTED(); }
    });
"""

MODERN = """
Maybe<Shape> Pooled(const Shape& x, int32_t window) {
  if (x.NumAxes() == 0) { return Error::RuntimeError() << "x has no axis to pool"; }
  Shape y = x;
  y.Set(x.NumAxes() - 1, x.At(x.NumAxes() - 1) / window);
  return y;
}

REGISTER_USER_OP("pool_forward")
    .Input("x")
    .Output("y")
    .Output("index")
    .Attr<int32_t>("window", 2)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = ctx->InputShape("x", 0);
      *ctx->OutputShape("y", 0) = *JUST(Pooled(x, ctx->Attr<int32_t>("window")));
      ctx->SetOutputShape("index", 0, ctx->OutputShape("y", 0));
      ctx->SetOutputIsDynamic("y", 0, ctx->InputIsDynamic("x", 0));
      CHECK_EQ_OR_RETURN(ctx->OutputShape("index", 0).NumAxes(), ctx->InputTensorDesc("x", 0).shape().NumAxes());
      return Maybe<void>::Ok();
    })
    .SetPhysicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      UNIMPLEMENTED_THEN_RETURN() << "there is one device";
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_OR_RETURN(IsFloatingDataType(ctx->InputDType("x", 0))) << "x is " << ctx->InputDType("x", 0);
      *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
      ctx->SetOutputDType("index", 0, DataType::kInt32);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis);

REGISTER_USER_OP("pool_backward")
    .Input("dy").Input("index").Input("like").Output("dx").Attr<int32_t>("window", 2)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->MutOutputTensorDesc("dx", 0) = ctx->InputTensorDesc("like", 0);
      return Maybe<void>::Ok();
    });

// The gradient takes the sign of the pooled gradient, for no reason but to use an op of the framework's own.
REGISTER_USER_OP_GRAD("pool_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      const auto name = ctx->FwOp().op_name();
      ctx->DefineOp(name + "_never", [](user_op::BackwardOpBuilder& builder) {
        UNIMPLEMENTED();
        return builder.Build();
      });
      ctx->DefineOp(name + "_sign", [&ctx, &name](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("sign")
            .InputBind("x", ctx->GetOp(name + "_grad").output("dx", 0))
            .Output("y")
            .Build();
      });
      ctx->DefineOp(name + "_grad", [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("pool_backward")
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .InputBind("index", ctx->FwOp().output("index", 0))
            .InputBind("like", ctx->FwOp().input("x", 0))
            .Attr<int32_t>("window", ctx->FwOp().attr<int32_t>("window"))
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &name]() -> const std::string& {
        return ctx->GetOp(name + "_sign").output("y", 0);
      });
      return Maybe<void>::Ok();
    });

REGISTER_NO_GRAD_USER_OP("ones")
    .Output("out").Attr<Shape>("shape").Attr<DataType>("dtype", DataType::kFloat)
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("out", 0) = Shape(ctx->Attr<Shape>("shape").dim_vec());
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputDType("out", 0) = ctx->Attr<DataType>("dtype");
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> { return Maybe<void>::Ok(); })
    .SetNdSbpInferFn([](user_op::InferNdSbpFnContext* ctx) -> Maybe<void> {
      SbpParallel whole;
      whole.mutable_broadcast_parallel();
      return user_op::InferNdSbp4SrcOp(ctx, whole);
    });
"""
PARTS = """
REGISTER_USER_OP("parts_forward").Input("x").Output("y")
    .SetLogicalTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_OR_RETURN(IsComplexDataType(ctx->InputDType("x", 0)));
      ctx->SetOutputDType("y", 0, ctx->InputDType("x", 0) == kComplex64 ? kFloat : kDouble);
      return Maybe<void>::Ok();
    });
"""


@pytest.fixture(scope="module")
def spellings() -> Definition:
    return load("spellings", LEGACY + MODERN)


def test_an_op_is_read_back_as_it_was_registered(spellings: Definition) -> None:
    assert [op.schema() for op in spellings.ops.values()] == [
        "blend_forward(a, b, mask, *, weight: float = 0.25, exact: bool = True, rows: int64) -> out",
        "blend_backward(dy, mask, *, weight: float = 0.25) -> (da, db)",
        "pool_forward(x, *, window: int32 = 2) -> (y, index)",
        "pool_backward(dy, index, like, *, window: int32 = 2) -> dx",
        "ones(*, shape: shape, dtype: dtype = float32) -> out",
    ]
    blend = spellings.ops["blend_forward"]
    assert blend.flags == OpFlag.INFERS_SHAPE | OpFlag.HAS_SBP
    assert blend.file == str(spellings.path)
    assert blend.line == line_of(spellings.path, 'REGISTER_USER_OP("blend_forward")')
    assert [op.index for op in spellings.ops.values()] == [0, 1, 2, 3, 4]
    assert [op.gradient for op in spellings.ops.values()] == [0, None, 1, None, None]
    assert OpFlag.CPU_ONLY in spellings.ops["blend_backward"].flags
    assert OpFlag.NO_GRADIENT in spellings.ops["ones"].flags
    assert OpFlag.INFERS_DTYPE in spellings.ops["pool_forward"].flags


def test_legacy_inference(spellings: Definition) -> None:
    blend = spellings.ops["blend_forward"]
    assert infer(blend, spec(2, 3), spec(4, 1), spec(2), rows=1) == [[spec(4, 3)]]
    backward = spellings.ops["blend_backward"]
    assert infer(backward, spec(2, 3), spec(2)) == [[spec(2, 3)], [spec(2, 3, dtype=F64)]]


def test_modern_inference(spellings: Definition) -> None:
    pool = spellings.ops["pool_forward"]
    assert infer(pool, spec(2, 9), window=3) == [[spec(2, 3)], [spec(2, 3, dtype=I32)]]
    # Left alone, the dtype of an output is that of the first input.
    assert infer(spellings.ops["pool_backward"], spec(2, dtype=F64), spec(2), spec(4)) == [[spec(4, dtype=F32)]]
    assert infer(spellings.ops["ones"], shape=(2, 1), dtype="float64") == [[spec(2, 1, dtype=F64)]]


@pytest.mark.parametrize("shape", [(), (0,), (1,) * 20])
def test_any_rank_and_empty_shapes(spellings: Definition, shape: tuple[int, ...]) -> None:
    assert infer(spellings.ops["ones"], shape=shape) == [[TensorSpec(shape, F32)]]


def test_failed_checks_carry_the_definitions_own_words(spellings: Definition) -> None:
    blend, path = spellings.ops["blend_forward"], spellings.path
    with pytest.raises(CallError) as error:
        infer(blend, spec(2), spec(2, 2), spec(1), rows=1)
    assert str(error.value) == (
        f"op blend_forward: {path.name}:{line_of(path, 'ranks differ')}: "
        "check failed: a->NumAxes() == b->NumAxes() (1 vs 2): ranks differ [PK400]"
    )
    with pytest.raises(CallError, match=re.escape('check failed: conf.attr<float>("weight") <= 1 (2 vs 1): weight is')):
        infer(blend, spec(2), spec(2), spec(1), rows=1, weight=2)
    pool = spellings.ops["pool_forward"]
    with pytest.raises(CallError, match=rf"pool_forward: {path.name}:\d+: x has no axis to pool \[PK400\]$"):
        infer(pool, spec())
    with pytest.raises(CallError, match=r"check failed: IsFloatingDataType\(.*\): x is int32 \[PK400\]$"):
        infer(pool, spec(2, dtype=I32))


def test_complex_numbers_are_for_definitions_that_name_them(spellings: Definition) -> None:
    z = spec(4, dtype=np.dtype(np.complex64))
    with pytest.raises(CallError, match="dy is complex64, and the definition does not name complex dtypes. If the op"):
        infer(spellings.ops["pool_backward"], z, spec(4), z)
    with pytest.raises(CallError, match=r"check failed: IsFloatingDataType\(.*\): x is complex64 \[PK400\]$"):
        infer(spellings.ops["pool_forward"], z)
    parts = load("parts", PARTS)
    assert infer(parts.ops["parts_forward"], z) == [[spec(4)]]
    with pytest.raises(CallError, match="check failed: IsComplexDataType"):
        infer(parts.ops["parts_forward"], spec(4))


def test_dtypes_are_inferred_without_shapes_where_they_have_a_function_of_their_own(spellings: Definition) -> None:
    unknown = TensorSpec(None, F32)
    assert infer(spellings.ops["pool_forward"], unknown) == [[TensorSpec(None, F32)], [TensorSpec(None, I32)]]
    with pytest.raises(CallError, match="the shape of input 'a' is not known yet"):
        infer(spellings.ops["blend_forward"], unknown, unknown, unknown, rows=1)


def test_shapes_are_inferred_without_dtypes(spellings: Definition) -> None:
    assert infer(spellings.ops["pool_forward"], TensorSpec((4,), None))[0] == [TensorSpec((2,), None)]


# ---- gradients


def test_a_gradient_in_the_old_style(spellings: Definition) -> None:
    blend = spellings.ops["blend_forward"]
    plan = blend.plan_gradient(None, blend.parse_attributes({"rows": 1, "weight": "0.1"}), name="here")
    (op,) = plan.ops
    assert (op.name, op.type) == ("here_grad", "blend_backward")
    assert op.inputs == (("dy", "D/out/0"), ("mask", "I/mask/0"))
    assert op.outputs == (("da", 1), ("db", 1))
    assert op.attributes == {"weight": 0.1}
    # The input that SetInputArgModifyFn declares constant has no gradient.
    assert plan.bindings == {("a", 0): "here_grad/da_0", ("b", 0): "here_grad/db_0"}
    assert plan.notes == ()


def test_a_gradient_in_the_new_style_through_an_op_of_the_framework(spellings: Definition) -> None:
    pool = spellings.ops["pool_forward"]
    plan = pool.plan_gradient([[spec(4)]], pool.parse_attributes({"window": 3}))
    assert [(op.name, op.type) for op in plan.ops] == [
        ("pool_forward_grad", "pool_backward"),
        ("pool_forward_sign", "sign"),
    ]
    assert plan.ops[0].inputs == (("dy", "D/y/0"), ("index", "O/index/0"), ("like", "I/x/0"))
    # Output dx was not asked for, but the op always has it.
    assert plan.ops[0].outputs == (("dx", 1),)
    assert plan.ops[0].attributes == {"window": 3}
    assert plan.ops[1].inputs == (("x", "pool_forward_grad/dx_0"),)
    assert plan.bindings == {("x", 0): "pool_forward_sign/y_0"}


def test_an_op_without_a_gradient_says_so(spellings: Definition) -> None:
    with pytest.raises(DefinitionError, match="op ones has no gradient"):
        spellings.ops["ones"].plan_gradient(None, {"shape": (1,), "dtype": 2})


# ---- SBP


def test_sbp_signatures(spellings: Definition) -> None:
    blend = spellings.ops["blend_forward"]
    signatures = sbp.signatures(blend, [[spec(2, 3)], [spec(2, 3)], [spec(2, 3)]], blend.parse_attributes({"rows": 1}))
    tensors = [("a", 0), ("b", 0), ("mask", 0), ("out", 0)]
    assert signatures == [
        dict.fromkeys(tensors, sbp.Split(0)),
        dict.fromkeys(tensors, sbp.Split(1)),
        {t: sbp.Broadcast() if t[0] == "mask" else sbp.PartialSum() for t in tensors},
    ]
    assert sbp.signatures(spellings.ops["pool_backward"], [[spec(1)]] * 3, {"window": 2}) == []
    with pytest.raises(DefinitionError, match=r"splits input 'mask' along axis 1, but its shape is \(2,\)"):
        sbp.signatures(blend, [[spec(2, 3)], [spec(2, 3)], [spec(2)]], blend.parse_attributes({"rows": 1}))
