/* user_op::OpRegistry: the registration of one op type.
 *
 * Registration runs while the shared object is being loaded, when an exception would end the process. Problems are
 * therefore recorded and reported when the definition is read.
 */
#pragma once

#include "oneflow/core/framework/batch_axis_context.h"
#include "oneflow/core/framework/infer_util.h"
#include "oneflow/core/framework/sbp_context.h"
#include "oneflow/core/framework/user_op_def.h"
#include "pykernels/definition/callback.h"

namespace oneflow {
namespace user_op {

/* Properties of one input or output of a use of an op. Only requires_grad and is_mutable of inputs are used here. */
class ArgModifier {
 public:
  bool requires_grad() const { return requires_grad_; }
  void set_requires_grad(bool requires_grad) { requires_grad_ = requires_grad; }
  bool is_mutable() const { return is_mutable_; }
  void set_is_mutable(bool is_mutable) { is_mutable_ = is_mutable; }
  void set_use_header_only(bool) {}
  void set_header_infered_before_compute(bool) {}

 private:
  bool requires_grad_ = true;
  bool is_mutable_ = false;
};
using InputArgModifier = ArgModifier;
using OutputArgModifier = ArgModifier;
using GetInputArgModifier = std::function<InputArgModifier*(const std::string&, int32_t)>;
using GetOutputArgModifier = std::function<OutputArgModifier*(const std::string&, int32_t)>;

using TensorDescInferFn = pykernels::Callback<InferContext*>;
using DataTypeInferFn = pykernels::Callback<InferContext*>;
using GetSbpFn = pykernels::Callback<SbpContext*>;
using CheckAttrFn = pykernels::Callback<const UserOpDefWrapper&, const UserOpConfWrapper&>;
using InputArgModifyFn = pykernels::Callback<const GetInputArgModifier&, const UserOpConfWrapper&>;

class OpRegistry final {
 public:
  using Where = pykernels::Where;

  OpRegistry(const std::string& op_type_name, Where at) {
    declaration_.name = op_type_name;
    declaration_.where = at;
  }
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  /* With a type, such as "floating[rows, columns]", shapes and dtypes are inferred from it (docs/definitions.md). */
#define PK_ARGUMENT(prefix, list, optional)                                                              \
  OpRegistry& prefix(const std::string& name, int32_t count = 1, Where at = Where::Here()) {             \
    return prefix(name, "", count, at);                                                                  \
  }                                                                                                      \
  OpRegistry& prefix(const std::string& name, const char* type, int32_t count = 1,                       \
                     Where at = Where::Here()) {                                                         \
    return Argument(&declaration_.list, {name, count, /*variadic=*/false, optional, false, type, at});   \
  }                                                                                                      \
  OpRegistry& prefix##WithMinimum(const std::string& name, int32_t least, Where at = Where::Here()) {    \
    return prefix##WithMinimum(name, "", least, at);                                                     \
  }                                                                                                      \
  OpRegistry& prefix##WithMinimum(const std::string& name, const char* type, int32_t least,              \
                                  Where at = Where::Here()) {                                            \
    return Argument(&declaration_.list, {name, least, /*variadic=*/true, optional, false, type, at});    \
  }
  PK_ARGUMENT(Input, inputs, false)
  PK_ARGUMENT(OptionalInput, inputs, true)
  PK_ARGUMENT(Output, outputs, false)
  PK_ARGUMENT(OptionalOutput, outputs, true)
#undef PK_ARGUMENT

  template<typename T>
  OpRegistry& Attr(const std::string& name) {
    return Attribute({name, AttrVal(AttrTraits<T>::kType), /*has_default=*/false});
  }
  template<typename T>
  OpRegistry& Attr(const std::string& name, const T& initial) {
    return Attribute({name, MakeAttrVal(initial), /*has_default=*/true});
  }
  /* The form used by OneFlow 0.1, where the type is a value. */
  OpRegistry& Attr(const std::string& name, AttrType type) {
    return Attribute({name, AttrVal(type), /*has_default=*/false});
  }
  template<typename T>
  OpRegistry& Attr(const std::string& name, AttrType type, const T& initial) {
    AttrVal value = MakeAttrVal(initial);
    const AttrType given = value.type;
    if (!ConvertAttrVal(&value, type)) {
      Problem("the default of attribute '" + name + "' must be " + AttrTypeName(type) + ", but is of type "
              + AttrTypeName(given));
    }
    return Attribute({name, value, /*has_default=*/true});
  }

  /* Refuses a call unless `condition`, such as "0 <= p < 1", holds for its attributes and axes. */
  OpRegistry& Require(const std::string& condition, Where at = Where::Here()) {
    requirements_.push_back({condition, at});
    return *this;
  }
  /* Lets the op be split over several devices along an axis that its types name, if `condition` holds. */
  OpRegistry& Split(const std::string& axis, const std::string& condition = "", Where at = Where::Here()) {
    split_.push_back({axis, at, condition});
    return *this;
  }
  /* Adds the backward op: its inputs and its gradients, as in "x, dy -> dx". A further call adds that of the backward
   * op, in which the gradient of dx is gdx: "x, dy, gdx -> gx, gdy". */
  OpRegistry& Backward(const std::string& gradient, Where at = Where::Here()) {
    backward_.push_back({gradient, at});
    return *this;
  }
  /* Adds the op that computes the forward-mode derivative: the tangents of outputs, as in "x, y, tx -> ty". A further
   * call adds that of the backward op: "x, dy, tx, tdy -> tdx". */
  OpRegistry& Tangent(const std::string& tangent, Where at = Where::Here()) {
    tangent_.push_back({tangent, at});
    return *this;
  }

  OpRegistry& SupportCpuOnly() {
    flags_ |= PK_OP_CPU_ONLY;
    return *this;
  }
  OpRegistry& NoGrad() {
    flags_ |= PK_OP_NO_GRADIENT;
    return *this;
  }
  OpRegistry& SetOutputBufferNum(int32_t) { return *this; }
  OpRegistry& SupportNonContiguous() { return *this; }

  /* If an op has both a logical and a physical function, the logical one is used: there is only one device here. */
  OpRegistry& SetTensorDescInferFn(TensorDescInferFn fn) { return SetLogicalTensorDescInferFn(std::move(fn)); }
  OpRegistry& SetLogicalTensorDescInferFn(TensorDescInferFn fn) {
    return Set(&logical_fn_, std::move(fn), PK_OP_INFERS_SHAPE);
  }
  OpRegistry& SetPhysicalTensorDescInferFn(TensorDescInferFn fn) {
    return Set(&physical_fn_, std::move(fn), PK_OP_INFERS_SHAPE);
  }
  OpRegistry& SetDataTypeInferFn(DataTypeInferFn fn) { return Set(&data_type_fn_, std::move(fn), PK_OP_INFERS_DTYPE); }
  OpRegistry& SetGetSbpFn(GetSbpFn fn) { return Set(&sbp_fn_, std::move(fn), PK_OP_HAS_SBP); }
  OpRegistry& SetCheckAttrFn(CheckAttrFn fn) { return Set(&check_attr_fn_, std::move(fn), 0); }
  OpRegistry& SetInputArgModifyFn(InputArgModifyFn fn) { return Set(&input_modify_fn_, std::move(fn), 0); }

  /* Accepted but not used here. */
#define PK_NOT_READ(name)        \
  template<typename Function>    \
  OpRegistry& name(Function&&) { \
    return *this;                \
  }
  PK_NOT_READ(SetBatchAxisInferFn)
  PK_NOT_READ(SetOutputArgModifyFn)
  PK_NOT_READ(SetInferOutputBlobTimeShapeFn)
  PK_NOT_READ(SetOutputBlobTimeShapeInferFn)
  PK_NOT_READ(SetInferSbpSignatureFn)
  PK_NOT_READ(SetSbpSignatureInferFn)
  PK_NOT_READ(SetNdSbpInferFn)
  PK_NOT_READ(SetParallelDistributionInferFn)
  PK_NOT_READ(SetDeviceInferFn)
  PK_NOT_READ(SetDeviceAndStreamInferFn)
  PK_NOT_READ(SetComputeComplexityFn)
  PK_NOT_READ(SetGetNdSbpSignatureListFn)
#undef PK_NOT_READ

  const pykernels::Declaration& declaration() const { return declaration_; }
  pykernels::Declaration* mut_declaration() { return &declaration_; }
  uint32_t flags() const { return flags_; }
  const std::vector<std::string>& problems() const { return problems_; }
  const std::list<pykernels::Line>& requirements() const { return requirements_; }
  const std::list<pykernels::Line>& split() const { return split_; }
  const std::list<pykernels::Line>& backward() const { return backward_; }
  const std::list<pykernels::Line>& tangent() const { return tangent_; }

  /* Whether an argument has a type, or something is said that only types give a meaning. */
  bool IsTyped() const {
    bool is_typed = !requirements_.empty() || !split_.empty();
    for (const auto* arguments : {&declaration_.inputs, &declaration_.outputs}) {
      for (const auto& argument : *arguments) { is_typed = is_typed || !argument.type.empty(); }
    }
    return is_typed;
  }

  /* For what completes ops. */
  OpRegistry& AddInput(pykernels::ArgumentDecl input) { return Argument(&declaration_.inputs, std::move(input)); }
  OpRegistry& AddOutput(pykernels::ArgumentDecl output) { return Argument(&declaration_.outputs, std::move(output)); }
  OpRegistry& AddAttribute(pykernels::AttributeDecl attribute) { return Attribute(std::move(attribute)); }
  void AddProblem(const std::string& problem) { problems_.push_back(problem); }

  /* Infers the outputs of `instance`. Without `with_shapes`, infers only data types, if a separate function does so. */
  void Infer(pykernels::Instance* instance, bool with_shapes, bool with_data_types) const {
    instance->UnsetOutputs();
    InferContext context(instance, static_cast<bool>(data_type_fn_));
    if (check_attr_fn_) { check_attr_fn_(UserOpDefWrapper(declaration_), context.user_op_conf()); }
    if (with_shapes) { (logical_fn_ ? logical_fn_ : physical_fn_)(&context); }
    if (with_data_types && data_type_fn_) { data_type_fn_(&context); }
  }

  void GetSbp(SbpContext* context) const {
    if (sbp_fn_) { sbp_fn_(context); }
  }

  /* Marks the inputs that the kernel changes, according to the SetInputArgModifyFn function. The function is called
   * with all inputs present and every attribute at its default. */
  void MarkMutableInputs() {
    if (!input_modify_fn_) { return; }
    const auto use = std::make_shared<pykernels::OpUse>();
    use->name = use->type = declaration_.name;
    use->where = declaration_.where;
    for (const auto& argument : declaration_.inputs) {
      use->inputs.push_back({argument.name, std::vector<std::string>(argument.count, argument.name)});
    }
    for (const auto& attribute : declaration_.attributes) {
      use->attributes.push_back({attribute.name, attribute.initial});
    }
    for (const auto& modifier : Modifiers(UserOpConfWrapper(use))) {
      for (auto& argument : declaration_.inputs) {
        if (argument.name == modifier.first.first) { argument.is_mutable |= modifier.second.is_mutable(); }
      }
    }
  }

  /* Returns the inputs that need no gradient in a use of the op, according to the SetInputArgModifyFn function. */
  std::vector<pykernels::TensorKey> ConstantInputs(const UserOpConfWrapper& conf) const {
    std::vector<pykernels::TensorKey> constant;
    for (const auto& modifier : Modifiers(conf)) {
      if (!modifier.second.requires_grad() || modifier.second.is_mutable()) { constant.push_back(modifier.first); }
    }
    return constant;
  }

 private:
  template<typename Function>
  OpRegistry& Set(Function* function, Function value, uint32_t flag) {
    *function = std::move(value);
    flags_ |= flag;
    return *this;
  }

  /* Returns what the SetInputArgModifyFn function requests, and sets, for a use of the op. */
  std::list<std::pair<pykernels::TensorKey, InputArgModifier>> Modifiers(const UserOpConfWrapper& conf) const {
    std::list<std::pair<pykernels::TensorKey, InputArgModifier>> modifiers;
    const auto get = [&](const std::string& name, int32_t index) -> InputArgModifier* {
      if (!conf.has_input(name, index)) { return nullptr; }
      modifiers.emplace_back(pykernels::TensorKey(name, index), InputArgModifier());
      return &modifiers.back().second;
    };
    if (input_modify_fn_) { input_modify_fn_(get, conf); }
    return modifiers;
  }

  OpRegistry& Argument(std::list<pykernels::ArgumentDecl>* list, pykernels::ArgumentDecl argument) {
    CheckName(argument.name);
    if (argument.count < 1) {
      Problem("argument '" + argument.name + "' stands for " + std::to_string(argument.count)
              + " tensors; the minimum is 1 (OptionalInput may be left out)");
    }
    list->push_back(std::move(argument));
    return *this;
  }

  OpRegistry& Attribute(pykernels::AttributeDecl attribute) {
    CheckName(attribute.name);
    declaration_.attributes.push_back(std::move(attribute));
    return *this;
  }

  /* Arguments and attributes share one namespace. */
  void CheckName(const std::string& name) {
    if (name.empty()) { Problem("an argument or attribute has no name"); }
    if (pykernels::Contains(names_, name)) { Problem("the name '" + name + "' is declared twice"); }
    names_.push_back(name);
  }

  void Problem(const std::string& text) {
    problems_.push_back(declaration_.where.Text() + ": op " + declaration_.name + ": " + text);
  }

  pykernels::Declaration declaration_;
  uint32_t flags_ = 0;
  std::vector<std::string> names_;
  std::vector<std::string> problems_;
  std::list<pykernels::Line> requirements_, split_;
  std::list<pykernels::Line> backward_, tangent_;
  TensorDescInferFn logical_fn_;
  TensorDescInferFn physical_fn_;
  DataTypeInferFn data_type_fn_;
  GetSbpFn sbp_fn_;
  CheckAttrFn check_attr_fn_;
  InputArgModifyFn input_modify_fn_;
};

}  // namespace user_op
}  // namespace oneflow
