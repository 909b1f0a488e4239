/* Bodies of user_op_registry.h and user_op_registry_manager.h in oneflow/core/framework/. */
#pragma once

#include "registry.h"

namespace pykernels {

const Declaration* FindDeclaration(const std::string& op_type) {
  const OpRecord* op = Registry::Get().FindOp(op_type);
  return op == nullptr ? nullptr : &op->declaration;
}

OpRegistry AddOp(const std::string& name, Where at, bool takes_complex) {
  OpRecord& op = Registry::Get().AddOp(name, at);
  op.takes_complex = takes_complex;
  return OpRegistry(&op);
}
OpGradRegistry& AddGradient(const std::string& op, Where at) { return Registry::Get().AddGradient(op, at); }

}  // namespace pykernels

namespace oneflow {
namespace user_op {

#define PK_ARGUMENT(prefix, list, optional)                                                                 \
  OpRegistry& OpRegistry::prefix(const std::string& name, int32_t count, Where at) {                        \
    return prefix(name, "", count, at);                                                                     \
  }                                                                                                         \
  OpRegistry& OpRegistry::prefix(const std::string& name, const char* type, int32_t count, Where at) {      \
    record_->Add(&record_->declaration.list, {name, count, /*variadic=*/false, optional, false, type, at}); \
    return *this;                                                                                           \
  }                                                                                                         \
  OpRegistry& OpRegistry::prefix##WithMinimum(const std::string& name, int32_t least, Where at) {           \
    return prefix##WithMinimum(name, "", least, at);                                                        \
  }                                                                                                         \
  OpRegistry& OpRegistry::prefix##WithMinimum(const std::string& name, const char* type, int32_t least,     \
                                              Where at) {                                                   \
    record_->Add(&record_->declaration.list, {name, least, /*variadic=*/true, optional, false, type, at});  \
    return *this;                                                                                           \
  }
PK_ARGUMENT(Input, inputs, false)
PK_ARGUMENT(OptionalInput, inputs, true)
PK_ARGUMENT(Output, outputs, false)
PK_ARGUMENT(OptionalOutput, outputs, true)
#undef PK_ARGUMENT

OpRegistry& OpRegistry::Attribute(const std::string& name, AttrType type, AttrType given, const void* value) {
  pykernels::AttributeDecl attribute{name, AttrVal(type), value != nullptr};
  if (value != nullptr) {
    attribute.initial = MakeAttrVal(given, value);
    if (!ConvertAttrVal(&attribute.initial, type)) {
      record_->Problem(pykernels::Joined({"the default of attribute '", name, "' must be ", AttrTypeName(type),
                                          ", but is of type ", AttrTypeName(given)}));
    }
  }
  record_->Add(attribute);
  return *this;
}

OpRegistry& OpRegistry::Require(const std::string& condition, Where at) {
  const pykernels::Line line{condition, at};
  record_->requirements.push_back(line);
  return *this;
}
OpRegistry& OpRegistry::Split(const std::string& axis, const std::string& condition, Where at) {
  const pykernels::Line line{axis, at, condition};
  record_->split.push_back(line);
  return *this;
}
OpRegistry& OpRegistry::Backward(const std::string& gradient, Where at) {
  const pykernels::Line line{gradient, at};
  record_->backward.push_back(line);
  return *this;
}
OpRegistry& OpRegistry::Tangent(const std::string& tangent, Where at) {
  const pykernels::Line line{tangent, at};
  record_->tangent.push_back(line);
  return *this;
}

OpRegistry& OpRegistry::SupportCpuOnly() {
  record_->flags |= PK_OP_CPU_ONLY;
  return *this;
}
OpRegistry& OpRegistry::NoGrad() {
  record_->flags |= PK_OP_NO_GRADIENT;
  return *this;
}

OpRegistry& OpRegistry::SetTensorDescInferFn(const TensorDescInferFn& fn) { return SetLogicalTensorDescInferFn(fn); }
#define PK_FUNCTION(Name, Fn, member, flag)          \
  OpRegistry& OpRegistry::Set##Name(const Fn& fn) {  \
    record_->member = fn;                            \
    record_->flags |= flag;                          \
    return *this;                                    \
  }
PK_FUNCTION(LogicalTensorDescInferFn, TensorDescInferFn, logical_fn, PK_OP_INFERS_SHAPE)
PK_FUNCTION(PhysicalTensorDescInferFn, TensorDescInferFn, physical_fn, PK_OP_INFERS_SHAPE)
PK_FUNCTION(DataTypeInferFn, DataTypeInferFn, data_type_fn, PK_OP_INFERS_DTYPE)
PK_FUNCTION(GetSbpFn, GetSbpFn, sbp_fn, PK_OP_HAS_SBP)
PK_FUNCTION(CheckAttrFn, CheckAttrFn, check_attr_fn, 0)
PK_FUNCTION(InputArgModifyFn, InputArgModifyFn, input_modify_fn, 0)
#undef PK_FUNCTION

}  // namespace user_op
}  // namespace oneflow
