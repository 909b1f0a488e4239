/* user_op::UserOpDefWrapper: what an op declares, as a SetCheckAttrFn function sees it. */
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_DEF_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_DEF_H_

#include "pykernels/definition/declaration.h"

namespace oneflow {
namespace user_op {

class UserOpDefWrapper final {
 public:
  using Where = pykernels::Where;

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

  bool IsArgOptional(const std::string& name, Where at = Where::Here()) const {
    return Argument(name, at).optional;
  }
  std::pair<int32_t, bool> ArgNumAndIsMin(const std::string& name, Where at = Where::Here()) const {
    const pykernels::ArgumentDecl& argument = Argument(name, at);
    return {argument.count, argument.variadic};
  }

  AttrType GetAttrType(const std::string& name, Where at = Where::Here()) const {
    return Attribute(name, at).initial.type;
  }
  bool AttrHasDefaultVal(const std::string& name, Where at = Where::Here()) const {
    return Attribute(name, at).has_default;
  }
  template<typename T>
  T GetAttrDefaultVal(const std::string& name, Where at = Where::Here()) const {
    return AttrTraits<T>::Read(Attribute(name, at).initial);
  }

 private:
  const pykernels::ArgumentDecl& Argument(const std::string& name, Where at) const {
    const pykernels::ArgumentDecl* argument = pykernels::FindNamed(declaration_.inputs, name);
    if (argument == nullptr) { argument = pykernels::FindNamed(declaration_.outputs, name); }
    if (argument == nullptr) {
      pykernels::RaiseFault()
          & pykernels::Message(at, "op " + declaration_.name + " has no argument '" + name + "'");
    }
    return *argument;
  }
  const pykernels::AttributeDecl& Attribute(const std::string& name, Where at) const {
    const pykernels::AttributeDecl* attribute = pykernels::FindNamed(declaration_.attributes, name);
    if (attribute == nullptr) {
      pykernels::RaiseFault()
          & pykernels::Message(at, "op " + declaration_.name + " has no attribute '" + name + "'");
    }
    return *attribute;
  }

  const pykernels::Declaration& declaration_;
};

struct CheckAttrFnUtil {
  template<typename Conf>
  static Maybe<void> NoCheck(const UserOpDefWrapper&, const Conf&) {
    return Maybe<void>::Ok();
  }
};

}  // namespace user_op
}  // namespace oneflow

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_DEF_H_
