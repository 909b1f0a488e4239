// An op for PopRT in C++: it moves numbers towards zero by its attribute `threshold`, and stops at zero.
#include <memory>

#include <popart/op.hpp>
#include <popart/opmanager.hpp>
#include <popart/opserialiser.hpp>
#include <popart/popx/opx.hpp>
#include <popart/popx/opxmanager.hpp>
#include <popops/ElementWise.hpp>

namespace pe = popops::expr;

namespace {

const popart::OperatorIdentifier kSoftThreshold(popart::Domain::ai_graphcore, "SoftThreshold", 1);

// The op: one output, of the shape and type of its input.
class SoftThreshold : public popart::Op {
 public:
  SoftThreshold(const popart::OperatorIdentifier& id, float threshold, const popart::Op::Settings& settings)
      : popart::Op(id, settings), threshold(threshold) {}

  std::unique_ptr<popart::Op> clone() const override { return std::make_unique<SoftThreshold>(*this); }
  void setup() override { outInfo(0) = inInfo(0); }
  float getSubgraphValue() const override { return getLowSubgraphValue(); }
  void appendAttributes(popart::OpSerialiserBase& os) const override { os.appendAttribute("threshold", threshold); }

  const float threshold;
};

// The computation: sign(x) max(|x| - threshold, 0).
class SoftThresholdOpx : public popart::popx::Opx {
 public:
  SoftThresholdOpx(popart::Op* op, popart::popx::Devicex* device) : popart::popx::Opx(op, device) {
    verifyOp<SoftThreshold>(op, kSoftThreshold);
  }

  void grow(poplar::program::Sequence& program) const override {
    const float threshold = getOp<SoftThreshold>().threshold;
    const auto rest = pe::Max(pe::Abs(pe::_1) - threshold, pe::Const(0.0f));
    setOutTensor(0, popops::map(graph(), pe::Signum(pe::_1) * rest, {getInTensor(0)}, program, debugContext()));
  }
};

// The registrations: PopART finds the op by its name in a model, and the computation by the op.
const popart::OpDefinition::DataTypes kFloats = {popart::DataType::FLOAT16, popart::DataType::FLOAT};
const popart::OpCreator<SoftThreshold> kCreator(
    popart::OpDefinitions({{kSoftThreshold, popart::OpDefinition({{"x", kFloats}}, {{"y", kFloats}},
                                                                 {{"threshold", {"*"}}})}}),
    [](const popart::OpCreatorInfo& info) {
      const float threshold = info.attributes.getAttribute<popart::Attributes::Float>("threshold", 0.5f);
      if (threshold < 0) throw popart::error("threshold is {}, which is negative", threshold);
      return std::make_unique<SoftThreshold>(info.opid, threshold, info.settings);
    },
    true);
const popart::popx::OpxCreator<SoftThresholdOpx> kOpxCreator(kSoftThreshold);

}  // namespace
