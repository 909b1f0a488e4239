/* user_op::UserOpConfWrapper, one use of an op, and the builder that creates another one for a gradient. */
#pragma once

#include "pykernels/definition/instance.h"

namespace oneflow {
namespace user_op {

class OpArg final {
 public:
  OpArg(std::string name, int32_t index) : name_(std::move(name)), index_(index) {}

  const std::string& name() const { return name_; }
  int32_t index() const { return index_; }

 private:
  std::string name_;
  int32_t index_;
};

class UserOpConfWrapper {
 public:
  using Where = pykernels::Where;

  explicit UserOpConfWrapper(std::shared_ptr<const pykernels::OpUse> use) : use_(std::move(use)) {}

  const std::string& op_name() const { return use_->name; }
  const std::string& op_type_name() const { return use_->type; }

  const std::string& input(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return use_->Blob("input", use_->inputs, name, index, at);
  }
  const std::string& output(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return use_->Blob("output", use_->outputs, name, index, at);
  }
  int32_t input_size(const std::string& name, Where at = Where::Here()) const {
    return use_->Size(use_->inputs, name, at);
  }
  int32_t output_size(const std::string& name, Where at = Where::Here()) const {
    return use_->Size(use_->outputs, name, at);
  }
  bool has_input(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return index >= 0 && index < input_size(name, at);
  }
  bool has_output(const std::string& name, int32_t index, Where at = Where::Here()) const {
    return index >= 0 && index < output_size(name, at);
  }

  template<typename T>
  const T& attr(const std::string& name, Where at = Where::Here()) const {
    return use_->Attribute<T>(name, at);
  }
  template<typename T>
  T attr_or_default(const std::string& name, const T& otherwise, Where at = Where::Here()) const {
    return use_->HasAttribute(name) ? use_->Attribute<T>(name, at) : otherwise;
  }

  const std::shared_ptr<const pykernels::OpUse>& use() const { return use_; }

 private:
  std::shared_ptr<const pykernels::OpUse> use_;
};

class UserOpConfWrapperBuilder final {
 public:
  using Self = UserOpConfWrapperBuilder;

  explicit UserOpConfWrapperBuilder(const std::string& op_name, pykernels::Where at = pykernels::Where::Here()) {
    use_.name = op_name;
    use_.where = at;
  }

  Self& OpTypeName(const std::string& op_type_name) {
    use_.type = op_type_name;
    return *this;
  }
  Self& Op(const std::string& op_type_name) { return OpTypeName(op_type_name); }

  /* Binding an argument again appends a blob. */
  Self& InputBind(const std::string& name, const std::string& blob) {
    Argument(&use_.inputs, name).blobs.push_back(blob);
    return *this;
  }
  Self& Input(const std::string& name, const std::string& blob) { return InputBind(name, blob); }

  Self& Output(const std::string& name, int32_t count = 1) {
    pykernels::BoundArgument& argument = Argument(&use_.outputs, name);
    argument.blobs.clear();
    for (int32_t i = 0; i < count; ++i) { argument.blobs.push_back(use_.name + "/" + name + "_" + std::to_string(i)); }
    return *this;
  }

  template<typename T>
  Self& Attr(const std::string& name, const T& value) {
    AttrVal converted = MakeAttrVal(value);
    for (pykernels::BoundAttribute& attribute : use_.attributes) {
      if (attribute.name == name) {
        attribute = {name, std::move(converted)};
        return *this;
      }
    }
    use_.attributes.push_back({name, std::move(converted)});
    return *this;
  }

  /* Adds outputs that were left out but that the op always has. */
  UserOpConfWrapper Build() {
    if (const pykernels::Declaration* declaration = pykernels::FindDeclaration(use_.type)) {
      for (const pykernels::ArgumentDecl& output : declaration->outputs) {
        const bool given = pykernels::FindNamed(use_.outputs, output.name) != nullptr;
        if (output.IsFixed() && !given) { Output(output.name, output.count); }
      }
    }
    return UserOpConfWrapper(std::make_shared<const pykernels::OpUse>(use_));
  }

 private:
  static pykernels::BoundArgument& Argument(std::list<pykernels::BoundArgument>* arguments, const std::string& name) {
    for (pykernels::BoundArgument& argument : *arguments) {
      if (argument.name == name) { return argument; }
    }
    arguments->push_back({name, {}});
    return arguments->back();
  }

  pykernels::OpUse use_;
};

}  // namespace user_op
}  // namespace oneflow
