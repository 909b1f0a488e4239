/* All ops and gradients that a definition registers. */
#pragma once

#include "op_record.h"
#include "oneflow/core/framework/user_op_registry_manager.h"

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

  OpRecord& AddOp(const std::string& name, Where at) { return ops_.emplace_back(name, at); }
  OpGradRegistry& AddGradient(const std::string& op, Where at) { return gradients_.emplace_back(op, at); }

  std::list<OpRecord>& ops() { return ops_; }
  std::list<OpGradRegistry>& gradients() { return gradients_; }

  const OpRecord* FindOp(const std::string& name) const {
    for (const OpRecord& op : ops_) {
      if (op.declaration.name == name) { return &op; }
    }
    return nullptr;
  }

  /* The problems of the registrations, each with its location. */
  std::vector<std::string> Problems() const {
    std::vector<std::string> problems;
    for (const OpRecord& op : ops_) {
      const Declaration& declaration = op.declaration;
      if (declaration.name.empty()) { problems.push_back(Joined({declaration.where.Text(), ": an op has no name"})); }
      for (const std::string& problem : op.problems) { problems.push_back(problem); }
      const Where first = FindOp(declaration.name)->declaration.where;
      CheckFirst(Joined({"op ", declaration.name}), declaration.where, first, &problems);
    }
    for (const OpGradRegistry& gradient : gradients_) {
      const std::string what = Joined({"the gradient of op ", gradient.name});
      if (!gradient.HasPlan()) { problems.push_back(Joined({gradient.where.Text(), ": ", what, " has no function"})); }
      CheckFirst(what, gradient.where, FindNamed(gradients_, gradient.name)->where, &problems);
    }
    return problems;
  }

 private:
  static void CheckFirst(const std::string& what, Where where, Where first, std::vector<std::string>* problems) {
    if (where.line != first.line || std::strcmp(where.file, first.file) != 0) {
      problems->push_back(Joined({where.Text(), ": ", what, " is registered twice; the first time is at ",
                                  first.Text()}));
    }
  }

  std::list<OpRecord> ops_;
  std::list<OpGradRegistry> gradients_;
};

}  // namespace pykernels
