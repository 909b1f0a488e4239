/* The gradient of an op, in both styles in which an OneFlow definition can plan the backward pass. */
#pragma once

#include "pykernels/definition/callback.h"
#include "pykernels/definition/gradient_plan.h"

namespace oneflow {
namespace user_op {

/* The forward op, as a gradient function sees it. */
class UserOpWrapper final : private UserOpConfWrapper {
 public:
  using Where = pykernels::Where;
  using UserOpConfWrapper::attr, UserOpConfWrapper::attr_or_default;
  using UserOpConfWrapper::has_input, UserOpConfWrapper::input_size;
  using UserOpConfWrapper::has_output, UserOpConfWrapper::output_size;
  using UserOpConfWrapper::op_name, UserOpConfWrapper::op_type_name;

  /* `constant`: the inputs that the op declares as needing no gradient. */
  UserOpWrapper(pykernels::Instance* forward, pykernels::GradientPlan* plan, std::vector<pykernels::TensorKey> constant)
      : UserOpConfWrapper(std::shared_ptr<const pykernels::OpUse>(std::shared_ptr<void>(), &forward->use())),
        forward_(forward),
        plan_(plan),
        constant_(std::move(constant)) {}

  const UserOpConfWrapper& user_op_conf() const { return *this; }

  const std::string& input(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return UserOpConfWrapper::input(InputName(name), index, at);
  }
  const std::string& output(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return UserOpConfWrapper::output(OutputName(name), index, at);
  }
  const std::string& output_grad(const std::string& name, int32_t index, Where at = Where::Here()) const {
    gradients_.push_back(output(name, index, at));
    gradients_.back()[0] = 'D';
    return gradients_.back();
  }
  const std::string& GetGradTensorWithOpOutput(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return output_grad(name, index, at);
  }

  const TensorDesc& arg_tensor_desc(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return forward_->Tensor(name, index, at);
  }
  const TensorDesc& TensorDesc4ArgNameAndIndex(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return forward_->Tensor(name, index, at);
  }

  bool NeedGenGradTensor4OpInput(const std::string& name, int32_t index, Where at = Where::Here()) const {
    const std::string declared = InputName(name);
    UserOpConfWrapper::input(declared, index, at);
    return !pykernels::Contains(constant_, pykernels::TensorKey(declared, index));
  }
  bool HasGradTensor4OpOutput(const std::string& name, int32_t index, Where at = Where::Here()) const {
    output(name, index, at);
    return true;
  }

  template<typename GradFn>
  void InputGradBind(const OpArg& input, const GradFn& grad_fn, Where at = Where::Here()) const {
    if (NeedGenGradTensor4OpInput(input.name(), input.index(), at)) {
      BindGradTensorWithOpInput(grad_fn(), input.name(), input.index(), at);
    }
  }
  void BindGradTensorWithOpInput(const std::string& blob, const std::string& name, int32_t index,
                                 Where at = Where::Here()) const {
    if (!NeedGenGradTensor4OpInput(name, index, at)) {
      throw pykernels::Fault(at, "input '" + name + "' of op " + op_type_name() + " is declared to need no gradient");
    }
    plan_->Bind(InputName(name), index, blob, at);
  }

 private:
  std::string InputName(const std::string& name) const { return Declared("input", use()->inputs, name); }
  std::string OutputName(const std::string& name) const { return Declared("output", use()->outputs, name); }

  /* Returns `name`, or the declared name if the op has only one input and one output, so that nothing else can be
   * meant. */
  std::string Declared(const std::string& kind, const std::list<pykernels::BoundArgument>& arguments,
                       const std::string& name) const {
    const pykernels::Declaration& op = forward_->declaration();
    const bool one_to_one = op.inputs.size() == 1 && op.outputs.size() == 1 && op.inputs.front().IsSingle()
                            && op.outputs.front().IsSingle();
    if (!one_to_one || pykernels::FindNamed(arguments, name) != nullptr) { return name; }
    plan_->Note("the gradient of op " + op.name + " names its " + kind + " '" + name
                + "', but the op declares '" + arguments.front().name + "'");
    return arguments.front().name;
  }

  pykernels::Instance* forward_;
  pykernels::GradientPlan* plan_;
  std::vector<pykernels::TensorKey> constant_;
  mutable std::list<std::string> gradients_;  // keeps alive the names that output_grad has returned
};

using BackwardOpBuilder = UserOpConfWrapperBuilder;
using BackwardOpBuilderFn = std::function<UserOpConfWrapper(BackwardOpBuilder&)>;
using UserOpInputGradGetFn = std::function<const std::string&()>;
using AddOpFn = std::function<void(const UserOpConfWrapper&)>;
using GenBackwardOpConfFn = pykernels::Callback<const UserOpWrapper&, const AddOpFn&>;

class BackwardOpConfContext final {
 public:
  using Where = pykernels::Where;

  BackwardOpConfContext(UserOpWrapper* forward, pykernels::GradientPlan* plan) : forward_(forward), plan_(plan) {}

  UserOpWrapper& FwOp() { return *forward_; }

  void DefineOp(const std::string& op_name, const BackwardOpBuilderFn& fn, Where at = Where::Here()) {
    if (Find(op_name) != nullptr) { throw pykernels::Fault(at, "the gradient defines op " + op_name + " twice"); }
    ops_.push_back({op_name, fn, at});
  }

  /* An op becomes part of the gradient when it is first requested. */
  UserOpConfWrapper& GetOp(const std::string& op_name, Where at = Where::Here()) {
    DefinedOp* op = Find(op_name);
    if (op == nullptr) { throw pykernels::Fault(at, "the gradient has not defined op " + op_name); }
    if (op->built == nullptr) { Build(op, at); }
    return *op->built;
  }

 private:
  struct DefinedOp {
    std::string name;
    BackwardOpBuilderFn fn;
    Where at;
    bool building = false;
    std::shared_ptr<UserOpConfWrapper> built = nullptr;
  };

  DefinedOp* Find(const std::string& name) { return const_cast<DefinedOp*>(pykernels::FindNamed(ops_, name)); }

  void Build(DefinedOp* op, Where at) {
    if (op->building) {
      throw pykernels::Fault(at, "op " + op->name + " of the gradient is defined by its own output");
    }
    op->building = true;
    BackwardOpBuilder builder(op->name, op->at);
    op->built = std::make_shared<UserOpConfWrapper>(op->fn(builder));
    plan_->Add(*op->built->use());
  }

  UserOpWrapper* forward_;
  pykernels::GradientPlan* plan_;
  std::list<DefinedOp> ops_;
};

using BackwardOpConfGenFn = pykernels::Callback<BackwardOpConfContext*>;

/* The gradient of one op type, registered by REGISTER_USER_OP_GRAD. */
class OpGradRegistry final {
 public:
  OpGradRegistry(std::string op_type_name, pykernels::Where at) : name(std::move(op_type_name)), where(at) {}

  OpGradRegistry& SetBackwardOpConfGenFn(BackwardOpConfGenFn fn) {
    plan = [fn](UserOpWrapper* forward, pykernels::GradientPlan* gradient) {
      BackwardOpConfContext context(forward, gradient);
      fn(&context);
    };
    return *this;
  }
  OpGradRegistry& SetGenBackwardOpConfFn(GenBackwardOpConfFn fn) {
    plan = [fn](UserOpWrapper* forward, pykernels::GradientPlan* gradient) {
      fn(*forward, [gradient](const UserOpConfWrapper& op) { gradient->Add(*op.use()); });
    };
    return *this;
  }

  const std::string name;  // of the forward op
  const pykernels::Where where;
  std::function<void(UserOpWrapper*, pykernels::GradientPlan*)> plan;
};

}  // namespace user_op
}  // namespace oneflow
