/* Bodies of oneflow/core/framework/user_op_grad_registry.h. */
#pragma once

#include "gradient_plan.h"
#include "oneflow/core/framework/user_op_grad_registry.h"
#include "typed_backward.h"

namespace oneflow {
namespace user_op {

/* ---- the forward op */

UserOpWrapper::UserOpWrapper(pykernels::Instance* forward, pykernels::GradientPlan* plan,
                             const std::vector<pykernels::TensorKey>& constant)
    : UserOpConfWrapper(pykernels::Borrowed(forward->use())),
      forward_(forward),
      plan_(plan),
      constant_(constant) {}

const std::string& UserOpWrapper::input(const std::string& name, int32_t index, Where at) const {
  return UserOpConfWrapper::input(InputName(name), index, at);
}
const std::string& UserOpWrapper::output(const std::string& name, int32_t index, Where at) const {
  return UserOpConfWrapper::output(OutputName(name), index, at);
}
const std::string& UserOpWrapper::output_grad(const std::string& name, int32_t index, Where at) const {
  gradients_.push_back(output(name, index, at));
  gradients_.back()[0] = 'D';
  return gradients_.back();
}
const std::string& UserOpWrapper::GetGradTensorWithOpOutput(const std::string& name, int32_t index, Where at) const {
  return output_grad(name, index, at);
}

const TensorDesc& UserOpWrapper::arg_tensor_desc(const std::string& name, int32_t index, Where at) const {
  return forward_->Tensor(name, index, at);
}
const TensorDesc& UserOpWrapper::TensorDesc4ArgNameAndIndex(const std::string& name, int32_t index, Where at) const {
  return forward_->Tensor(name, index, at);
}

bool UserOpWrapper::NeedGenGradTensor4OpInput(const std::string& name, int32_t index, Where at) const {
  const std::string declared = InputName(name);
  UserOpConfWrapper::input(declared, index, at);
  return !pykernels::Contains(constant_, pykernels::TensorKey(declared, index));
}
bool UserOpWrapper::HasGradTensor4OpOutput(const std::string& name, int32_t index, Where at) const {
  output(name, index, at);
  return true;
}

void UserOpWrapper::BindGradTensorWithOpInput(const std::string& blob, const std::string& name, int32_t index,
                                              Where at) const {
  if (!NeedGenGradTensor4OpInput(name, index, at)) {
    throw pykernels::Fault(at, pykernels::Joined({"input '", name, "' of op ", op_type_name(),
                                                  " is declared to need no gradient"}));
  }
  plan_->Bind(InputName(name), index, blob, at);
}

namespace {

/* Returns `name`, or the declared name if the op has only one input and one output, so that nothing else can be
 * meant. */
std::string Declared(const std::string& kind, const std::list<pykernels::BoundArgument>& arguments,
                     const std::string& name, const pykernels::Declaration& op, pykernels::GradientPlan* plan) {
  const bool one_to_one = op.inputs.size() == 1 && op.outputs.size() == 1 && op.inputs.front().IsSingle()
                          && op.outputs.front().IsSingle();
  if (!one_to_one || pykernels::FindNamed(arguments, name) != nullptr) { return name; }
  plan->Note(pykernels::Joined({"the gradient of op ", op.name, " names its ", kind, " '", name,
                                "', but the op declares '", arguments.front().name, "'"}));
  return arguments.front().name;
}

}  // namespace

std::string UserOpWrapper::InputName(const std::string& name) const {
  return Declared("input", use()->inputs, name, forward_->declaration(), plan_);
}
std::string UserOpWrapper::OutputName(const std::string& name) const {
  return Declared("output", use()->outputs, name, forward_->declaration(), plan_);
}

/* ---- the ops of the gradient */

struct BackwardOpConfContext::DefinedOp {
  std::string name;
  BackwardOpBuilderFn fn;
  Where at;
  bool building = false;
  std::unique_ptr<UserOpConfWrapper> built;
};

BackwardOpConfContext::BackwardOpConfContext(UserOpWrapper* forward, pykernels::GradientPlan* plan)
    : forward_(forward), plan_(plan) {}
BackwardOpConfContext::~BackwardOpConfContext() = default;

void BackwardOpConfContext::DefineOp(const std::string& op_name, const BackwardOpBuilderFn& fn, Where at) {
  if (Find(op_name) != nullptr) {
    throw pykernels::Fault(at, pykernels::Joined({"the gradient defines op ", op_name, " twice"}));
  }
  ops_.push_back({op_name, fn, at, false, nullptr});
}

UserOpConfWrapper& BackwardOpConfContext::GetOp(const std::string& op_name, Where at) {
  DefinedOp* op = Find(op_name);
  if (op == nullptr) { throw pykernels::Fault(at, pykernels::Joined({"the gradient has not defined op ", op_name})); }
  if (op->built == nullptr) { Build(op, at); }
  return *op->built;
}

BackwardOpConfContext::DefinedOp* BackwardOpConfContext::Find(const std::string& name) {
  return const_cast<DefinedOp*>(pykernels::FindNamed(ops_, name));
}

void BackwardOpConfContext::Build(DefinedOp* op, Where at) {
  if (op->building) {
    throw pykernels::Fault(at, pykernels::Joined({"op ", op->name, " of the gradient is defined by its own output"}));
  }
  op->building = true;
  BackwardOpBuilder builder(op->name, op->at);
  op->built.reset(new UserOpConfWrapper(op->fn(builder)));
  plan_->Add(*op->built->use());
}

/* ---- the registration */

OpGradRegistry::OpGradRegistry(const std::string& op_type_name, pykernels::Where at) : name(op_type_name), where(at) {}

OpGradRegistry& OpGradRegistry::SetBackwardOpConfGenFn(const BackwardOpConfGenFn& fn) {
  with_context = fn;
  return *this;
}
OpGradRegistry& OpGradRegistry::SetGenBackwardOpConfFn(const GenBackwardOpConfFn& fn) {
  with_function = fn;
  return *this;
}

bool OpGradRegistry::HasPlan() const { return typed != nullptr || with_context || with_function; }

void OpGradRegistry::Plan(UserOpWrapper* forward, pykernels::GradientPlan* plan) const {
  if (typed != nullptr) {
    typed->Send(forward, plan);
  } else if (with_context) {
    BackwardOpConfContext context(forward, plan);
    with_context(&context);
  } else {
    with_function(*forward, [plan](const UserOpConfWrapper& op) { plan->Add(*op.use()); });
  }
}

}  // namespace user_op
}  // namespace oneflow
