/* user_op::UserOpDefWrapper: the declaration of an op, as SetCheckAttrFn functions receive it. */
#pragma once

#include <string>

namespace pykernels {
struct Declaration;
}  // namespace pykernels

namespace oneflow {
namespace user_op {

class UserOpDefWrapper final {
 public:
  explicit UserOpDefWrapper(const pykernels::Declaration& declaration) : declaration_(declaration) {}

  const std::string& name() const;
  bool IsInputArgName(const std::string& name) const;
  bool IsOutputArgName(const std::string& name) const;
  bool IsAttrName(const std::string& name) const;

 private:
  const pykernels::Declaration& declaration_;
};

}  // namespace user_op
}  // namespace oneflow
