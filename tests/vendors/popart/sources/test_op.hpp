// An op of whatever a function adds to the program: the tests' short form of what users write.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <popart/opmanager.hpp>
#include <popart/popx/opx.hpp>
#include <popart/popx/opxmanager.hpp>
#include <popops/ElementWise.hpp>

namespace test {

using popart::DataType;
using Types = popart::OpDefinition::DataTypes;

class Op : public popart::Op {
 public:
  Op(const popart::OpCreatorInfo& info) : popart::Op(info.opid, info.settings) {
    info.attributes.setIfPresent(number, "number");
    info.attributes.setIfPresent(name, "case");
  }
  std::unique_ptr<popart::Op> clone() const override { return std::make_unique<Op>(*this); }
  float getSubgraphValue() const override { return 0; }
  // The type of the first input, or else the only one; the shape of all.
  void setup() override {
    popart::Shape shape;
    for (int i = 0; i < input->n(); ++i) shape = prettyNpOut(shape, inShape(i));
    outInfo(0) = popart::TensorInfo(result == DataType::UNDEFINED ? inInfo(0).dataType() : result, shape);
  }

  int64_t number = 0;
  std::string name;
  DataType result = DataType::UNDEFINED;
};

struct Context {
  const Op& op;
  const popart::popx::Opx& opx;
  poplar::Graph& graph;
  poplar::program::Sequence& prog;
  std::vector<poplar::Tensor> in;
};
using Grow = std::function<poplar::Tensor(const Context&)>;

class Opx : public popart::popx::Opx {
 public:
  Opx(popart::Op* op, popart::popx::Devicex* device, Grow grow) : popart::popx::Opx(op, device), grow_(grow) {}
  void grow(poplar::program::Sequence& prog) const override {
    Context context{getOp<Op>(), *this, graph(), prog, {}};
    for (int i = 0; i < op_p->input->n(); ++i) context.in.push_back(getInTensor(i));
    setOutTensor(0, grow_(context));
  }

 private:
  Grow grow_;
};

// Registers an op with inputs of these types, and an output of the type of the first one or of `result`.
inline void add(const std::string& name, std::vector<Types> inputs, DataType result, Grow grow) {
  const popart::OperatorIdentifier id("test", name, 1);
  popart::OpDefinition definition;
  for (const Types& types : inputs) definition.inputs.push_back({"x", types});
  definition.outputs.push_back({"y", result == DataType::UNDEFINED ? inputs[0] : Types{result}});
  popart::OpCreator<Op>(
      popart::OpDefinitions({{id, definition}}),
      [result](const popart::OpCreatorInfo& info) {
        auto op = std::make_unique<Op>(info);
        op->result = result;
        return op;
      },
      true);
  popart::popx::OpxManager::registerOpx(id, [grow](popart::Op* op, popart::popx::Devicex* device) {
    return std::unique_ptr<popart::popx::Opx>(new Opx(op, device, grow));
  });
}

}  // namespace test
