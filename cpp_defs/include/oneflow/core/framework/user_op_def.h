/* user_op::UserOpDefWrapper: the declaration of an op, as SetCheckAttrFn functions receive it. */
#pragma once

#include "pykernels/definition/declaration.h"

namespace oneflow {
namespace user_op {

class UserOpDefWrapper final {
 public:
  explicit UserOpDefWrapper(const pykernels::Declaration& declaration) : declaration_(declaration) {}

  const std::string& name() const { return declaration_.name; }
  bool IsInputArgName(const std::string& name) const {
    return pykernels::FindNamed(declaration_.inputs, name) != nullptr;
  }
  bool IsOutputArgName(const std::string& name) const {
    return pykernels::FindNamed(declaration_.outputs, name) != nullptr;
  }
  bool IsAttrName(const std::string& name) const {
    return pykernels::FindNamed(declaration_.attributes, name) != nullptr;
  }

 private:
  const pykernels::Declaration& declaration_;
};

}  // namespace user_op
}  // namespace oneflow
