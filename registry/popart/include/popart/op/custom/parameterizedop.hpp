// Ops whose attributes are the members of a struct.
#pragma once

#include <memory>

#include <popart/opmanager.hpp>

namespace popart {

// `Derived` has a static function defaultOperatorId(); `Params` has a static makeFromAttributes().
template <typename Derived, typename Params>
class ParameterizedOp : public Op {
 public:
  using ParamsType = Params;

  ParameterizedOp(const OperatorIdentifier& opid, const Params& params, const Op::Settings& settings)
      : Op(opid, settings), m_params(params) {}
  ParameterizedOp(const Params& params, const Op::Settings& settings)
      : Op(Derived::defaultOperatorId(), settings), m_params(params) {}
  // Copies the parameters of the op to its gradient op.
  template <typename Other>
  ParameterizedOp(const OperatorIdentifier& opid, const ParameterizedOp<Other, Params>& op)
      : Op(opid, op.settings), m_params(op.params()) {}
  template <typename Other>
  ParameterizedOp(const ParameterizedOp<Other, Params>& op)
      : Op(Derived::defaultOperatorId(), op.settings), m_params(op.params()) {}

  std::unique_ptr<Op> clone() const override {
    return std::unique_ptr<Op>(new Derived(*dynamic_cast<const Derived*>(this)));
  }

  static std::unique_ptr<Derived> createOpFromCreatorInfo(const OpCreatorInfo& info) {
    return std::unique_ptr<Derived>(new Derived(info.opid, Params::makeFromAttributes(info.attributes), info.settings));
  }

  float getSubgraphValue() const override { return getHighSubgraphValue(); }
  bool requiresRandomSeed() const override { return false; }

  const Params& params() const { return m_params; }

 protected:
  Params m_params;
};

}  // namespace popart
