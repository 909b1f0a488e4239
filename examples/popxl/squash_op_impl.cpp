// cppimport
//
// An op for PopXL in C++: it squashes numbers into (-1 / steepness, 1 / steepness), as x / (1 + steepness |x|).
// Because of the first line, `import squash_op_impl` compiles this file, with the settings in the last lines.
#include <map>
#include <memory>
#include <vector>

#include <pybind11/pybind11.h>

#include <popart/op/custom/parameterizedop.hpp>
#include <popart/op/custom/parameterizedopbinder.hpp>
#include <popart/opmanager.hpp>
#include <popart/opserialiser.hpp>
#include <popart/popx/opx.hpp>
#include <popart/popx/opxmanager.hpp>
#include <popops/ElementWise.hpp>

namespace py = pybind11;
namespace pe = popops::expr;

namespace {

// The attributes, which both ops share.
struct SquashParams {
  float steepness = 1.0f;

  void appendAttributes(popart::OpSerialiserBase& os) const { os.appendAttribute("steepness", steepness); }

  static SquashParams makeFromAttributes(const popart::Attributes& attributes) {
    SquashParams params;
    params.steepness = attributes.getAttribute<popart::Attributes::Float>("steepness", params.steepness);
    return params;
  }
};

// The gradient op: it computes the input's gradient from the output's gradient and the input.
class SquashGradOp : public popart::ParameterizedOp<SquashGradOp, SquashParams> {
 public:
  using ParameterizedOp::ParameterizedOp;

  static popart::OperatorIdentifier defaultOperatorId() { return {"pykernels.examples", "SquashGrad", 1, {2, 2}, 1}; }

  void setup() override { outInfo(0) = inInfo(1); }

  const std::vector<popart::GradInOutMapper>& gradInputInfo() const override {
    static const std::vector<popart::GradInOutMapper> inputs = {{0, 0, popart::GradOpInType::GradOut},
                                                                {1, 0, popart::GradOpInType::In}};
    return inputs;
  }
  const std::map<int, int>& gradOutToNonGradIn() const override {
    static const std::map<int, int> outputs = {{0, 0}};
    return outputs;
  }
};

class SquashOp : public popart::ParameterizedOp<SquashOp, SquashParams> {
 public:
  using ParameterizedOp::ParameterizedOp;

  static popart::OperatorIdentifier defaultOperatorId() { return {"pykernels.examples", "Squash", 1, {1, 1}, 1}; }

  void setup() override {
    if (params().steepness < 0) throw popart::error("steepness is {}, which is negative", params().steepness);
    outInfo(0) = inInfo(0);
  }

  std::vector<std::unique_ptr<popart::Op>> getGradOps() override {
    std::vector<std::unique_ptr<popart::Op>> ops;
    ops.push_back(std::make_unique<SquashGradOp>(*this));
    return ops;
  }
};

const popart::OperatorIdentifier kSquash = SquashOp::defaultOperatorId();
const popart::OperatorIdentifier kSquashGrad = SquashGradOp::defaultOperatorId();

// 1 + steepness |x|, for an operand of an expression.
pe::Add scale(float steepness, const pe::PlaceHolder& x) {
  return pe::Add(pe::Const(1.0f), pe::Mul(pe::Const(steepness), pe::Abs(x)));
}

// The computations.
class SquashOpx : public popart::popx::Opx {
 public:
  SquashOpx(popart::Op* op, popart::popx::Devicex* device) : popart::popx::Opx(op, device) {
    verifyOp<SquashOp>(op, kSquash);
  }

  void grow(poplar::program::Sequence& program) const override {
    const auto result = pe::Divide(pe::_1, scale(getOp<SquashOp>().params().steepness, pe::_1));
    setOutTensor(0, popops::map(graph(), result, {getInTensor(0)}, program, debugContext("squash")));
  }
};

class SquashGradOpx : public popart::popx::Opx {
 public:
  SquashGradOpx(popart::Op* op, popart::popx::Devicex* device) : popart::popx::Opx(op, device) {
    verifyOp<SquashGradOp>(op, kSquashGrad);
  }

  void grow(poplar::program::Sequence& program) const override {
    const auto result = pe::Divide(pe::_1, pe::Square(scale(getOp<SquashGradOp>().params().steepness, pe::_2)));
    const std::vector<poplar::Tensor> inputs = {getInTensor(0), getInTensor(1)};
    setOutTensor(0, popops::map(graph(), result, inputs, program, debugContext("squash_grad")));
  }
};

const popart::OpDefinition::DataTypes kFloats = {popart::DataType::FLOAT16, popart::DataType::FLOAT};
const popart::OpCreator<SquashOp> kCreator(
    popart::OpDefinitions({{kSquash, popart::OpDefinition({{"x", kFloats}}, {{"y", kFloats}},
                                                          {{"steepness", {"*"}}})}}),
    &SquashOp::createOpFromCreatorInfo, true);
const popart::popx::OpxCreator<SquashOpx> kOpxCreator(kSquash);
const popart::popx::OpxCreator<SquashGradOpx> kGradOpxCreator(kSquashGrad);

}  // namespace

PYBIND11_MODULE(squash_op_impl, m) {
  py::class_<SquashParams>(m, "SquashParams")
      .def(py::init([](float steepness) { return SquashParams{steepness}; }), py::arg("steepness") = 1.0f)
      .def_readwrite("steepness", &SquashParams::steepness);
  popart::ir::op::makeParameterizedOpBindings<SquashOp>(m, "Squash");
}

/*
<%
cfg["extra_compile_args"] = ["-std=c++17", "-O1"]
cfg["libraries"] = ["popart"]
setup_pybind11(cfg)
%>
*/
