// Maps ops to the Opx that computes them; each Opx has a static OpxCreator.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <popart/popx/opx.hpp>

namespace popart {
namespace popx {

class OpxManager {
 public:
  using OpxFactoryFunc = std::function<std::unique_ptr<Opx>(Op*, Devicex*)>;

  // Like OpManager::registerOp().
  static void registerOpx(const OperatorIdentifier& opid, OpxFactoryFunc function) noexcept;
};

template <typename OPX>
class OpxCreator {
 public:
  OpxCreator(const OperatorIdentifier& opid) { OpxManager::registerOpx(opid, &Create); }
  OpxCreator(const std::vector<OperatorIdentifier>& opids) {
    for (const OperatorIdentifier& each : opids) OpxManager::registerOpx(each, &Create);
  }

 private:
  static std::unique_ptr<Opx> Create(Op* op, Devicex* devicex) { return std::unique_ptr<Opx>(new OPX(op, devicex)); }
};

}  // namespace popx
}  // namespace popart
