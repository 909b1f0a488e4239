// What goes wrong in ops, by name.
#include "test_op.hpp"

namespace pe = popops::expr;
using poplar::Tensor;
using test::Context;
using test::DataType;

namespace {

struct NoStandardException {};

Tensor fail(const Context& c) {
  const std::string& name = c.op.name;
  const Tensor x = c.in[0];
  const auto map = [&](const pe::Expr& expr, std::vector<Tensor> ts) {
    return popops::map(c.graph, expr, ts, c.prog, "step");
  };
  if (name == "error") throw popart::error("{} of {}", "one", 3);
  if (name == "no standard exception") throw NoStandardException();
  if (name == "another shape") return x.flatten();
  if (name == "another type") return map(pe::Cast(pe::_1, poplar::INT), {x});
  if (name == "integer") return map(pe::Cast(pe::_1, poplar::INT), {x});
  if (name == "types") return map(pe::_1 + pe::Cast(pe::_1, poplar::INT), {x});
  if (name == "operator") return map(pe::_1 & pe::_1, {x});
  if (name == "condition") return map(pe::Select(pe::_1, pe::_1, pe::_1), {x});
  if (name == "placeholder") return map(pe::_2, {x});
  if (name == "shapes") return map(pe::_1 + pe::_2, {x, x.slice(0, 2)});
  if (name == "in place") {
    popops::mapInPlace(c.graph, pe::_1 > 0, {x}, c.prog, "step");
    return x;
  }
  if (name == "wider in place") {
    popops::mapInPlace(c.graph, pe::_1 + pe::_2, {x[0], x}, c.prog);
    return x;
  }
  if (name == "constant") {
    const Tensor t = c.graph.addConstant(x.elementType(), x.shape(), 3);
    popops::addInPlace(c.graph, t, x, c.prog);
    return t;
  }
  if (name == "slice") return x.slice(3, 9);
  if (name == "dimension") return x.slice(0, 1, 7);
  if (name == "reshape") return x.reshape({5, 5});
  if (name == "copy") {
    c.prog.add(poplar::program::Copy(x, x.slice(0, 1)));
    return x;
  }
  if (name == "no tensor") return Tensor();
  if (name == "unset tensor") return popops::neg(c.graph, Tensor(), c.prog);
  if (name == "input") return c.opx.getInTensor(4);
  if (name == "attribute") throw popart::error("never asked for");
  throw popart::error("there is no failure '{}'", name);
}

class Failing : public test::Op {
 public:
  Failing(const popart::OpCreatorInfo& info) : test::Op(info) {
    if (name == "creator") throw popart::error("no such op today");
    if (name == "attribute") info.attributes.getAttribute<popart::Attributes::Ints>("sizes");
    if (name == "strings") info.attributes.getAttribute<popart::Attributes::Strings>("sizes");
  }
  std::unique_ptr<popart::Op> clone() const override {
    return name == "clone" ? nullptr : std::make_unique<Failing>(*this);
  }
  void setup() override {
    if (name == "setup") throw popart::error("the input is {}", inInfo(0));
    if (name == "second input") outInfo(0) = inInfo(1);
    if (name == "second output") return void(outInfo(1) = inInfo(0));
    if (name == "no outputs") return;
    if (name == "integer") return void(outInfo(0) = popart::TensorInfo(DataType::INT32, inShape(0)));
    if (name == "negative") return void(outInfo(0) = popart::TensorInfo(DataType::FLOAT, {-1}));
    outInfo(0) = inInfo(0);
  }
};

const test::Types kFloat{DataType::FLOAT};

popart::OpDefinitions define(const char* name) {
  return {{{"test", name, 1}, popart::OpDefinition({{"x", kFloat}}, {{"y", kFloat}}, {})}};
}

const auto kMake = [](const popart::OpCreatorInfo& info) { return std::make_unique<Failing>(info); };

class Opx : public test::Opx {
 public:
  Opx(popart::Op* op, popart::popx::Devicex* device) : test::Opx(op, device, fail) {
    if (getOp<Failing>().name == "opx") throw popart::error("no such Opx");
  }
  void grow(poplar::program::Sequence& prog) const override {
    if (getOp<Failing>().name != "no output") test::Opx::grow(prog);
  }
};

const popart::OpCreator<Failing> failing(define("Fail"), kMake, true);
const popart::OpCreator<Failing> lonely(define("WithoutOpx"), kMake, true);
const popart::popx::OpxCreator<Opx> opx(popart::OperatorIdentifier("test", "Fail", 1));

}  // namespace
