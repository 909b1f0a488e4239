// Every operator of expressions by its number, and views of tensors by their names.
#include <popops/Cast.hpp>
#include <popops/Fill.hpp>
#include <popops/Zero.hpp>
#include <poputil/Broadcast.hpp>

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <popart/shapeinference.hpp>

#include "test_op.hpp"

namespace pe = popops::expr;
using poplar::Tensor;
using test::Context;
using test::DataType;
using test::Types;

namespace {

const Types kFloats{DataType::FLOAT, DataType::FLOAT16};
const Types kWhole{DataType::INT8, DataType::UINT8, DataType::INT16, DataType::UINT16, DataType::INT32,
                   DataType::UINT32, DataType::INT64, DataType::UINT64};
const Types kBool{DataType::BOOL};
const auto kSame = DataType::UNDEFINED;

Tensor unary(const Context& c) {
  return popops::map(c.graph, static_cast<pe::UnaryOpType>(c.op.number), c.in[0], c.prog);
}

Tensor binary(const Context& c) {
  return popops::map(c.graph, static_cast<pe::BinaryOpType>(c.op.number), c.in[0], c.in[1], c.prog);
}

Tensor ternary(const Context& c) {
  return popops::map(c.graph, static_cast<pe::TernaryOpType>(c.op.number), c.in[0], c.in[1], c.in[2], c.prog);
}

// Names of expressions, as users write them.
Tensor formula(const Context& c) {
  const std::string& name = c.op.name;
  const auto& x = pe::_1;
  const auto map = [&](const pe::Expr& expr) { return popops::map(c.graph, expr, c.in, c.prog, "formula"); };
  if (name == "polynomial") return map(1 + x * (2 - x / 4));
  if (name == "constants alone take the type") return map(pe::Mul(pe::Select(pe::Const(3), pe::Const(1.5f), x < 0), x));
  if (name == "nothing but constants") return map(pe::Cast(pe::Const(1) + pe::Const(0.5f), c.in[0].elementType()));
  if (name == "truths") return map(pe::Cast((x > 0 && x < 2) || pe::IsNaN(x) || !(x >= -2), c.in[0].elementType()));
  if (name == "a whole number on the way") return map(pe::Cast(pe::Cast(x, poplar::INT) % 3, c.in[0].elementType()));
  if (name == "rounded to a half") return map(pe::Cast(pe::Cast(x, poplar::HALF), c.in[0].elementType()));
  if (name == "shared") {
    pe::Any term = x * 0.5f;
    for (int i = 0; i < 60; ++i) term = pe::Any(pe::Add(term, term) * 0.5f);
    return map(term);
  }
  throw popart::error("there is no formula '{}'", name);
}

Tensor view(const Context& c) {
  const std::string& name = c.op.name;
  const Tensor x = c.in[0];  // of shape (4, 6)
  const auto twice = [&](const Tensor& t) { return popops::mul(c.graph, t, 2, c.prog); };
  const auto plus_one = [&](const Tensor& t) { popops::addInPlace(c.graph, t, 1, c.prog); };
  if (name == "transpose") return twice(x.transpose().reverse(1)).reverse(1).transpose();
  if (name == "reshape") return twice(x.transpose().reshape({3, 8}).flatten()).reshape({6, 4}).transpose();
  if (name == "concat") {
    const Tensor t = twice(poplar::concat({x.slice(2, 4), x.slice(0, 2)}));
    return poplar::concat(t.slice(2, 4), t.slice(0, 2));
  }
  if (name == "concat columns") return twice(poplar::concat(x.slice(0, 3, 1), x.slice(3, 6, 1), 1));
  if (name == "rows by number") return twice(poplar::concat({x[0].expand({0}), x.slice(1, 4)}));
  if (name == "outputs that are views") return twice(x.transpose()).transpose();
  if (name == "sums of neighbours") {  // reads at the same time what it is not to see changed
    const Tensor t = c.opx.cloneNcopy(c.prog, x);
    popops::mapInPlace(c.graph, pe::_1 + pe::_2, {t.slice(1, 6, 1), t.slice(0, 5, 1)}, c.prog);
    return t;
  }
  if (name == "a part in place") {
    const Tensor t = c.opx.cloneNcopy(c.prog, x);
    plus_one(t.slice(1, 3).slice(2, 5, 1));
    return t;
  }
  if (name == "a part of the input in place") {
    plus_one(x.subSample(2, 1));
    return x;
  }
  if (name == "parts that are put together in place") {
    plus_one(poplar::concat(x[3], x[0]));
    return x;
  }
  if (name == "the input itself") return x;
  if (name == "a constant") return c.graph.addConstant(x.elementType(), x.shape(), 3);
  if (name == "constants") {
    const Tensor t = c.graph.addConstant(x.elementType(), {6}, std::vector<float>{0, 1, 2, 3, 4, 5});
    return popops::add(c.graph, x, t, c.prog);
  }
  if (name == "fill and zero") {
    const Tensor t = c.graph.addVariable(x.elementType(), x.shape());
    popops::fill(c.graph, t.slice(0, 2), c.prog, 7);
    popops::zero(c.graph, t.slice(2, 4), c.prog);
    return t;
  }
  if (name == "broadcast") {
    Tensor row = x[1];
    poputil::broadcastToMatch(row, x.shape());
    return popops::sub(c.graph, x, row, c.prog);
  }
  if (name == "repeated") return popops::sub(c.graph, x, x.slice(0, 1).broadcast(4, 0), c.prog);
  if (name == "steps of a sequence") {
    poplar::program::Sequence first, second;
    const Tensor t = popops::mul(c.graph, x, x, first);
    popops::subInPlace(c.graph, t, 1, second);
    popops::mulInPlace(c.graph, t, x, second);
    c.prog.add(first);
    c.prog.add(second);
    return t;
  }
  throw popart::error("there is no view '{}'", name);
}

Tensor cast(const Context& c) {
  const poplar::Type types[] = {poplar::FLOAT, poplar::HALF, poplar::INT, poplar::UNSIGNED_CHAR, poplar::BOOL};
  return popops::cast(c.graph, c.in[0], types[c.op.number], c.prog);
}

// As the guide has it: the input is changed, and is the output.
Tensor in_place(const Context& c) {
  popops::mapInPlace(c.graph, pe::_1 * 2 + 1, {c.in[0]}, c.prog);
  return c.in[0];
}

const bool added = [] {
  using test::add;
  Types numbers = kFloats;
  numbers.insert(numbers.end(), kWhole.begin(), kWhole.end());
  Types all = numbers;
  all.push_back(DataType::BOOL);
  add("Unary", {all}, kSame, unary);
  add("UnaryTest", {kFloats}, DataType::BOOL, unary);
  add("Binary", {all, all}, kSame, binary);
  add("Compare", {all, all}, DataType::BOOL, binary);
  add("Clamp", {numbers, numbers, numbers}, kSame, ternary);
  add("Select", {kFloats, kFloats, kBool}, kSame, ternary);
  add("Formula", {kFloats}, kSame, formula);
  add("View", {numbers}, kSame, view);
  add("InPlace", {kFloats}, kSame, in_place);
  add("CastToFloat", {all}, DataType::FLOAT, cast);
  add("CastToHalf", {all}, DataType::FLOAT16, cast);
  add("CastToInt", {all}, DataType::INT32, cast);
  add("CastToByte", {all}, DataType::UINT8, cast);
  add("CastToBool", {all}, DataType::BOOL, cast);
  return true;
}();

}  // namespace

// As PopART's users say it for PopART's own checks.
namespace ONNX_NAMESPACE {

ONNX_OPERATOR_SET_SCHEMA_EX(
    Unary, tests, "test", 1, false,
    OpSchema()
        .SetDoc("An operator by its number.")
        .Input(0, "x", "numbers", "T")
        .Output(0, "y", "numbers", "T")
        .TypeConstraint("T", {"tensor(float)", "tensor(float16)"}, "floats")
        .Attr("number", "which", AttributeProto::INT, static_cast<int64_t>(0))
        .TypeAndShapeInferenceFunction([](InferenceContext& ctx) { propagateShapeAndTypeFromFirstInput(ctx); }))

static const bool registered = [] {
  OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion("test", 1, 1);
  RegisterSchema(GetOpSchema<ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(tests, 1, Unary)>());
  return true;
}();

}  // namespace ONNX_NAMESPACE

static const popart::RegisterShapeInferenceFunction
    shapes(popart::OperatorIdentifier("test", "Unary", 1),
           [](popart::ShapeInferenceContext& ctx) { ctx.outInfo(0) = ctx.inInfo(0); });
