"""C++ definitions: OneFlow's attribute types, and the vocabulary that definitions use besides the language."""

from __future__ import annotations

import pytest
from definitions import INCLUDE, infer, load, spec, write

from pykernels.base.abi import AttrType
from pykernels.base.attributes import format_value
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.declared import REQUIRED
from pykernels.define.definition import Definition

ATTRIBUTES = """
REGISTER_USER_OP("typed")
    .Input("x").Output("y")
    .Attr<int32_t>("i32", -3).Attr<int64_t>("i64", 1LL << 40).Attr<bool>("yes", true)
    .Attr<float>("f", 0.1f).Attr<double>("d", 0.1).Attr<std::string>("s", "a \\"b\\"\\n")
    .Attr<Shape>("shape", Shape({2, 3})).Attr<DataType>("dtype", DataType::kDouble)
    .Attr<std::vector<int32_t>>("li32", {1, -2}).Attr<std::vector<int64_t>>("li64", {1LL << 40})
    .Attr<std::vector<float>>("lf", {0.5f, 1e-3f})
    .Attr<std::vector<DataType>>("ldtype", {DataType::kInt8, DataType::kBool})
    .Attr<std::vector<Shape>>("lshape", {Shape({1}), Shape({}), Shape({4, 5})})
    .Attr<std::vector<std::string>>("ls", {"", "b"})
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      // Every value arrives as the type that the definition reads.
      const auto& shapes = ctx->Attr<std::vector<Shape>>("lshape");
      const int64_t total = ctx->Attr<int32_t>("i32") + ctx->Attr<int64_t>("i64") + ctx->Attr<bool>("yes")
                            + static_cast<int64_t>(ctx->Attr<float>("f") * 1000 + ctx->Attr<double>("d") * 100)
                            + ctx->Attr<std::string>("s").size() + ctx->Attr<Shape>("shape").elem_cnt()
                            + GetSizeOfDataType(ctx->Attr<DataType>("dtype"))
                            + ctx->Attr<std::vector<int32_t>>("li32").size()
                            + ctx->Attr<std::vector<int64_t>>("li64")[0]
                            + ctx->Attr<std::vector<float>>("lf").size()
                            + ctx->Attr<std::vector<DataType>>("ldtype").size()
                            + ctx->Attr<std::vector<std::string>>("ls").size();
      ctx->SetOutputShape("y", 0, Shape({total, static_cast<int64_t>(shapes.size()), shapes.back().elem_cnt()}));
      return Maybe<void>::Ok();
    });

REGISTER_USER_OP("untyped")
    .Output("y")
    .Attr<int32_t>("i32").Attr<int64_t>("i64").Attr<bool>("yes").Attr<float>("f").Attr<double>("d")
    .Attr<std::string>("s").Attr<Shape>("shape").Attr<DataType>("dtype").Attr<std::vector<int32_t>>("li32")
    .Attr<std::vector<int64_t>>("li64").Attr<std::vector<float>>("lf").Attr<std::vector<DataType>>("ldtype")
    .Attr<std::vector<Shape>>("lshape").Attr<std::vector<std::string>>("ls")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) { ctx->SetOutputShape("y", 0, Shape({1})); });

REGISTER_USER_OP("misread").Output("y").Attr<float>("alpha", 1)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) { ctx->Attr<double>("alpha"); });
REGISTER_USER_OP("unread").Output("y").Attr<float>("alpha", 1)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) { ctx->Attr<float>("alhpa"); });
"""
VALUES = {
    "i32": -3,
    "i64": 2**40,
    "yes": True,
    "f": 0.1,
    "d": 0.1,
    "s": 'a "b"\n',
    "shape": (2, 3),
    "dtype": 3,
    "li32": (1, -2),
    "li64": (2**40,),
    "lf": (0.5, 0.001),
    "ldtype": (4, 12),
    "lshape": ((1,), (), (4, 5)),
    "ls": ("", "b"),
}


@pytest.fixture(scope="module")
def attributes() -> Definition:
    return load("attributes", ATTRIBUTES)


@pytest.mark.thorough
def test_every_type_of_attribute_with_a_default(attributes: Definition) -> None:
    op = attributes.ops["typed"]
    assert [attribute.type for attribute in op.attributes] == list(AttrType)
    assert {attribute.name: attribute.default for attribute in op.attributes} == VALUES
    assert op.parse_attributes({}) == VALUES


def test_every_type_of_attribute_without_a_default(attributes: Definition) -> None:
    op = attributes.ops["untyped"]
    assert [attribute.type for attribute in op.attributes] == list(AttrType)
    assert all(attribute.required and attribute.default is REQUIRED for attribute in op.attributes)
    with pytest.raises(CallError, match=r"op untyped needs attribute 'i32' \(int32\): untyped\(\*, i32: int32"):
        op.parse_attributes({})


def test_every_type_of_attribute_reaches_the_definition(attributes: Definition) -> None:
    op = attributes.ops["typed"]
    total = -3 + 2**40 + 1 + 110 + 6 + 6 + 8 + 2 + 2**40 + 2 + 2 + 2
    assert infer(op, spec(1)) == [[spec(total, 3, 20)]]
    shown = {a.name: format_value(a.type, a.default) for a in op.attributes if a.type is not AttrType.STRING}
    assert infer(op, spec(1), **shown) == [[spec(total, 3, 20)]]
    assert infer(op, spec(1), lshape=[[7]], i32="7")[0][0].shape == (total + 10, 1, 7)


def test_attributes_that_are_misread(attributes: Definition) -> None:
    with pytest.raises(DefinitionError, match="'alpha' of op misread is of type float, but is read as double"):
        infer(attributes.ops["misread"])
    with pytest.raises(DefinitionError, match="op unread has no attribute 'alhpa'; it has: alpha"):
        infer(attributes.ops["unread"])


# ---- the vocabulary around the language

VOCABULARY = """
Maybe<int64_t> Half(int64_t n) {
  CHECK_EQ_OR_RETURN(n % 2, 0) << n << " is odd";
  return n / 2;
}
Maybe<void> Fails() { return Error::Unimplemented(); }
Maybe<const Shape&> Same(const Shape& shape) { return shape; }

Maybe<void> Exercise(user_op::InferContext* ctx) {
  const Shape s({2, 3, 4});
  CHECK_EQ(s.NumAxes(), 3);
  CHECK_EQ(s.At(1), 3);
  CHECK_EQ(s.elem_cnt(), 24);
  CHECK_EQ(s.Count(1), 12);
  CHECK_EQ(s.Count(1, 2), 3);
  CHECK_STREQ(s.ToString().c_str(), "(2, 3, 4)");
  CHECK_STREQ(Shape({1}).DebugStr(), "(1,)");
  CHECK_EQ(Shape({}).elem_cnt(), 1);
  CHECK_EQ(Shape({1, 3, 1}).RemoveOnes({0, 2}), Shape({3}));
  CHECK_EQ(Shape({3, 1}).Axes4BroadcastTo(Shape({2, 3, 4})), AxisVector({0, 2}));
  CHECK_EQ(CreateReducedShape(s, {-1, 0}), Shape({1, 3, 1}));
  CHECK_EQ(CreateLeftExtendedShape(Shape({3}), 2), Shape({1, 3}));
  CHECK_EQ(ShiftNegativeAxis(-1, 3), 2);
  DimVector dims = s.dim_vec();
  dims.insert(dims.begin(), 7);
  CHECK_EQ(Shape(dims), Shape({7, 2, 3, 4}));
  CHECK_EQ(JUST(Same(s)).At(0), 2);
  CHECK_EQ(JUST(Half(4)), 2);
  CHECK(!TRY(Half(3)).IsOk());
  CHECK(!TRY(Fails()).IsOk());
  CHECK(TRY(Half(2)).IsOk());
  CHECK_EQ(BalancedSplitter(20, 6).At(2).begin(), 8);
  CHECK_EQ(BalancedSplitter(20, 6).At(5).size(), 3);
  HashMap<std::string, int32_t> map{{"a", 1}};
  CHECK_EQ(map.at("a"), 1);
  CHECK_EQ(RoundUp(13, 8), 16);
  CHECK(IsIntegralDataType(DataType::kInt8) && IsIntegralDataType(kUInt8) && !IsIntegralDataType(kBool));
  CHECK(IsIndexDataType(kInt64) && !IsIndexDataType(kInt8) && IsFloatingDataType(kFloat16));
  CHECK_EQ(GetDataType<float>::value, DataType::kFloat);
  CHECK_EQ(ctx->parallel_num(), 1);
  CHECK_EQ(ctx->parallel_ctx().parallel_id(), 0);
  CHECK(ctx->SbpParallel4ArgNameAndIndex("x", 0).has_broadcast_parallel());
  CHECK_EQ(ctx->op_type_name(), "exercise");
  CHECK_EQ(ctx->input("x", 0), "I/x/0");
  CHECK_EQ(ctx->user_op_conf().output("y", 0), "O/y/0");
  CHECK_EQ(ctx->InputStride("x", 0), Stride({3, 1}));
  if (ctx->Attr<bool>("dangling"))
    CHECK(true);
  else
    LOG(WARNING) << "nobody reads this";
  JUST(Half(ctx->Attr<int64_t>("n")));
  ctx->SetOutputShape("y", 0, s);
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("exercise").Input("x").Output("y").Attr<bool>("dangling", false).Attr<int64_t>("n", 2)
    .SetTensorDescInferFn(Exercise);
"""


@pytest.mark.thorough
def test_the_vocabulary_of_definitions() -> None:
    before = INCLUDE + '#include "oneflow/core/common/balanced_splitter.h"\nnamespace oneflow {\n'
    op = load_cpp_def(write("vocabulary", VOCABULARY, before=before, after="}\n")).ops["exercise"]
    assert infer(op, spec(2, 3)) == [[spec(2, 3, 4)]]
    with pytest.raises(CallError, match=r"check failed: n % 2 == 0 \(1 vs 0\): 5 is odd \[PK400\]$"):
        infer(op, spec(2, 3), n=5)
