/* The macros that register ops and gradients, and the registry that holds them. */
#pragma once

#include "oneflow/core/framework/user_op_grad_registry.h"
#include "oneflow/core/framework/user_op_registry.h"

namespace pykernels {

using ::oneflow::user_op::OpGradRegistry;
using ::oneflow::user_op::OpRegistry;

/* All ops and gradients that this shared object registers. */
class Registry {
 public:
  static Registry& Get() {
    static Registry registry;
    return registry;
  }

  OpRegistry& AddOp(const std::string& name, Where at) { return ops_.emplace_back(name, at); }
  OpGradRegistry& AddGradient(const std::string& op, Where at) { return gradients_.emplace_back(op, at); }

  std::list<OpRegistry>& ops() { return ops_; }
  std::list<OpGradRegistry>& gradients() { return gradients_; }

  const OpRegistry* FindOp(const std::string& name) const {
    for (const OpRegistry& op : ops_) {
      if (op.declaration().name == name) { return &op; }
    }
    return nullptr;
  }

  /* The problems of the registrations, each with its location. */
  std::vector<std::string> Problems() const {
    std::vector<std::string> problems;
    for (const OpRegistry& op : ops_) {
      const Declaration& declaration = op.declaration();
      if (declaration.name.empty()) { problems.push_back(declaration.where.Text() + ": an op has no name"); }
      problems.insert(problems.end(), op.problems().begin(), op.problems().end());
      CheckFirst("op " + declaration.name, declaration.where, FindOp(declaration.name)->declaration().where, &problems);
    }
    for (const OpGradRegistry& gradient : gradients_) {
      const std::string what = "the gradient of op " + gradient.name;
      if (!gradient.plan) { problems.push_back(gradient.where.Text() + ": " + what + " has no function"); }
      CheckFirst(what, gradient.where, FindNamed(gradients_, gradient.name)->where, &problems);
    }
    return problems;
  }

 private:
  static void CheckFirst(const std::string& what, Where where, Where first, std::vector<std::string>* problems) {
    if (where.line != first.line || std::strcmp(where.file, first.file) != 0) {
      problems->push_back(where.Text() + ": " + what + " is registered twice; the first time is at " + first.Text());
    }
  }

  std::list<OpRegistry> ops_;
  std::list<OpGradRegistry> gradients_;
};

inline const Declaration* FindDeclaration(const std::string& op_type) {
  const OpRegistry* op = Registry::Get().FindOp(op_type);
  return op == nullptr ? nullptr : &op->declaration();
}

}  // namespace pykernels

#define REGISTER_USER_OP(name)                                                             \
  [[maybe_unused]] static ::oneflow::user_op::OpRegistry& OF_PP_CAT(pk_op_, __COUNTER__) = \
      ::pykernels::Registry::Get().AddOp(name, PK_HERE)

#define REGISTER_CPU_ONLY_USER_OP(name) REGISTER_USER_OP(name).SupportCpuOnly()
#define REGISTER_NO_GRAD_USER_OP(name) REGISTER_USER_OP(name).NoGrad()
#define REGISTER_NO_GRAD_CPU_ONLY_USER_OP(name) REGISTER_NO_GRAD_USER_OP(name).SupportCpuOnly()

#define REGISTER_USER_OP_GRAD(name)                                                              \
  [[maybe_unused]] static ::oneflow::user_op::OpGradRegistry& OF_PP_CAT(pk_grad_, __COUNTER__) = \
      ::pykernels::Registry::Get().AddGradient(name, PK_HERE)
