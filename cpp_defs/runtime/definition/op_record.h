/* What the registration of one op type has recorded. */
#pragma once

#include "instance.h"
#include "oneflow/core/framework/user_op_registry.h"

namespace pykernels {

using ::oneflow::user_op::CheckAttrFn;
using ::oneflow::user_op::DataTypeInferFn;
using ::oneflow::user_op::GetSbpFn;
using ::oneflow::user_op::InferContext;
using ::oneflow::user_op::InputArgModifier;
using ::oneflow::user_op::InputArgModifyFn;
using ::oneflow::user_op::SbpContext;
using ::oneflow::user_op::TensorDescInferFn;
using ::oneflow::user_op::UserOpConfWrapper;
using ::oneflow::user_op::UserOpDefWrapper;

/* How one signature distributes one tensor. */
struct SbpEntry {
  int32_t signature;
  TensorKey tensor;
  char kind;  // 'S', 'B' or 'P'
  int64_t axis;
};

class TypedOp;

struct OpRecord {
  Declaration declaration;
  uint32_t flags = 0;  // of pk_op_flags
  bool takes_complex = false;  // whether it looks at data types so that it can take complex numbers
  std::vector<std::string> names;
  std::vector<std::string> problems;
  std::list<Line> requirements, split;
  std::list<Line> backward, tangent;
  TensorDescInferFn logical_fn;
  TensorDescInferFn physical_fn;
  DataTypeInferFn data_type_fn;
  GetSbpFn sbp_fn;
  CheckAttrFn check_attr_fn;
  InputArgModifyFn input_modify_fn;
  const TypedOp* typed = nullptr;  // what the types of its arguments say, where no function does

  OpRecord(const std::string& op_type_name, Where at) {
    declaration.name = op_type_name;
    declaration.where = at;
  }
  OpRecord(const OpRecord&) = delete;
  OpRecord& operator=(const OpRecord&) = delete;

  /* Arguments and attributes share one namespace. */
  void Add(std::list<ArgumentDecl>* arguments, const ArgumentDecl& argument) {
    CheckName(argument.name);
    if (argument.count < 1) {
      Problem(Joined({"argument '", argument.name, "' stands for ", std::to_string(argument.count),
                      " tensors; the minimum is 1 (OptionalInput may be left out)"}));
    }
    arguments->push_back(argument);
  }
  void Add(const AttributeDecl& attribute) {
    CheckName(attribute.name);
    declaration.attributes.push_back(attribute);
  }
  void Problem(const std::string& text) {
    problems.push_back(Joined({declaration.where.Text(), ": op ", declaration.name, ": ", text}));
  }

  /* Whether an argument has a type, or something is said that only types give a meaning. */
  bool IsTyped() const {
    bool is_typed = !requirements.empty() || !split.empty();
    for (const auto* arguments : {&declaration.inputs, &declaration.outputs}) {
      for (const auto& argument : *arguments) { is_typed = is_typed || !argument.type.empty(); }
    }
    return is_typed;
  }

  /* Infers the outputs of `instance`. Without `with_shapes`, infers only data types, if a separate function does so. */
  void Infer(Instance* instance, bool with_shapes, bool with_data_types) const;

  void GetSbp(SbpContext* context) const;

  /* Marks the inputs that the kernel changes, according to the SetInputArgModifyFn function. The function is called
   * with all inputs present and every attribute at its default. */
  void MarkMutableInputs() {
    if (!input_modify_fn) { return; }
    OpUse use{declaration.name, declaration.name, declaration.where, {}, {}, {}};
    for (const auto& argument : declaration.inputs) {
      std::vector<std::string>* blobs = OpUse::Blobs(&use.inputs, argument.name);
      for (int32_t i = 0; i < argument.count; ++i) { blobs->push_back(argument.name); }
    }
    for (const auto& attribute : declaration.attributes) {
      use.Add(attribute.name, attribute.initial);
    }
    for (const auto& modifier : Modifiers(UserOpConfWrapper(Borrowed(use)))) {
      for (auto& argument : declaration.inputs) {
        if (argument.name == modifier.first.first) { argument.is_mutable |= modifier.second.is_mutable(); }
      }
    }
  }

  /* Returns the inputs that need no gradient in a use of the op, according to the SetInputArgModifyFn function. */
  std::vector<TensorKey> ConstantInputs(const UserOpConfWrapper& conf) const {
    std::vector<TensorKey> constant;
    for (const auto& modifier : Modifiers(conf)) {
      if (!modifier.second.requires_grad() || modifier.second.is_mutable()) { constant.push_back(modifier.first); }
    }
    return constant;
  }

 private:
  /* Returns what the SetInputArgModifyFn function requests, and sets, for a use of the op. */
  std::list<std::pair<TensorKey, InputArgModifier>> Modifiers(const UserOpConfWrapper& conf) const {
    std::list<std::pair<TensorKey, InputArgModifier>> modifiers;
    const auto get = [&](const std::string& name, int32_t index) -> InputArgModifier* {
      if (!conf.has_input(name, index)) { return nullptr; }
      modifiers.emplace_back(TensorKey(name, index), InputArgModifier());
      return &modifiers.back().second;
    };
    if (input_modify_fn) { input_modify_fn(get, conf); }
    return modifiers;
  }

  void CheckName(const std::string& name) {
    if (name.empty()) { Problem("an argument or attribute has no name"); }
    if (Contains(names, name)) { Problem(Joined({"the name '", name, "' is declared twice"})); }
    names.push_back(name);
  }
};

}  // namespace pykernels
