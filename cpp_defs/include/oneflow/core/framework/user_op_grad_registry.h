/* The gradient of an op, in both styles in which an OneFlow definition can plan the backward pass. */
#pragma once

#include <list>

#include "oneflow/core/framework/user_op_conf.h"
#include "pykernels/definition/callback.h"

namespace pykernels {
class GradientPlan;
class Instance;
class TypedBackward;
}  // namespace pykernels

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
  UserOpWrapper(pykernels::Instance* forward, pykernels::GradientPlan* plan,
                const std::vector<pykernels::TensorKey>& constant);

  const UserOpConfWrapper& user_op_conf() const { return *this; }

  const std::string& input(const std::string& name, int32_t index, Where at = Where::Here()) const;
  const std::string& output(const std::string& name, int32_t index, Where at = Where::Here()) const;
  const std::string& output_grad(const std::string& name, int32_t index, Where at = Where::Here()) const;
  const std::string& GetGradTensorWithOpOutput(const std::string& name, int32_t index, Where at = Where::Here()) const;

  const TensorDesc& arg_tensor_desc(const std::string& name, int32_t index, Where at = Where::Here()) const;
  const TensorDesc& TensorDesc4ArgNameAndIndex(const std::string& name, int32_t index, Where at = Where::Here()) const;

  bool NeedGenGradTensor4OpInput(const std::string& name, int32_t index, Where at = Where::Here()) const;
  bool HasGradTensor4OpOutput(const std::string& name, int32_t index, Where at = Where::Here()) const;

  template<typename GradFn>
  void InputGradBind(const OpArg& input, const GradFn& grad_fn, Where at = Where::Here()) const {
    if (NeedGenGradTensor4OpInput(input.name(), input.index(), at)) {
      BindGradTensorWithOpInput(grad_fn(), input.name(), input.index(), at);
    }
  }
  void BindGradTensorWithOpInput(const std::string& blob, const std::string& name, int32_t index,
                                 Where at = Where::Here()) const;

 private:
  std::string InputName(const std::string& name) const;
  std::string OutputName(const std::string& name) const;

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

  BackwardOpConfContext(UserOpWrapper* forward, pykernels::GradientPlan* plan);
  ~BackwardOpConfContext();

  UserOpWrapper& FwOp() { return *forward_; }

  void DefineOp(const std::string& op_name, const BackwardOpBuilderFn& fn, Where at = Where::Here());

  /* An op becomes part of the gradient when it is first requested. */
  UserOpConfWrapper& GetOp(const std::string& op_name, Where at = Where::Here());

 private:
  struct DefinedOp;

  DefinedOp* Find(const std::string& name);
  void Build(DefinedOp* op, Where at);

  UserOpWrapper* forward_;
  pykernels::GradientPlan* plan_;
  std::list<DefinedOp> ops_;
};

using BackwardOpConfGenFn = pykernels::Callback<BackwardOpConfContext*>;

/* The gradient of one op type, registered by REGISTER_USER_OP_GRAD. */
class OpGradRegistry final {
 public:
  OpGradRegistry(const std::string& op_type_name, pykernels::Where at);

  OpGradRegistry& SetBackwardOpConfGenFn(const BackwardOpConfGenFn& fn);
  OpGradRegistry& SetGenBackwardOpConfFn(const GenBackwardOpConfFn& fn);

  const std::string name;  // of the forward op
  const pykernels::Where where;
  BackwardOpConfGenFn with_context;
  GenBackwardOpConfFn with_function;
  const pykernels::TypedBackward* typed = nullptr;  // what `.Backward` says, in place of a function

  bool HasPlan() const;
  void Plan(UserOpWrapper* forward, pykernels::GradientPlan* plan) const;
};

}  // namespace user_op
}  // namespace oneflow
