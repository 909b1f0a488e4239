/* Bodies of oneflow/core/framework/user_op_conf.h. */
#pragma once

#include "oneflow/core/framework/user_op_conf.h"
#include "op_use.h"

namespace oneflow {
namespace user_op {

OpArg::OpArg(const std::string& name, int32_t index) : name_(name), index_(index) {}
OpArg::OpArg(const OpArg&) = default;
OpArg::~OpArg() = default;

UserOpConfWrapper::UserOpConfWrapper(std::shared_ptr<const pykernels::OpUse> use) : use_(std::move(use)) {}
UserOpConfWrapper::UserOpConfWrapper(const UserOpConfWrapper&) = default;
UserOpConfWrapper& UserOpConfWrapper::operator=(const UserOpConfWrapper&) = default;
UserOpConfWrapper::~UserOpConfWrapper() = default;

const std::string& UserOpConfWrapper::op_name() const { return use_->name; }
const std::string& UserOpConfWrapper::op_type_name() const { return use_->type; }

const std::string& UserOpConfWrapper::input(const std::string& name, int32_t index, Where at) const {
  return use_->Blob("input", use_->inputs, name, index, at);
}
const std::string& UserOpConfWrapper::output(const std::string& name, int32_t index, Where at) const {
  return use_->Blob("output", use_->outputs, name, index, at);
}
int32_t UserOpConfWrapper::input_size(const std::string& name, Where at) const {
  return use_->Size(use_->inputs, name, at);
}
int32_t UserOpConfWrapper::output_size(const std::string& name, Where at) const {
  return use_->Size(use_->outputs, name, at);
}
bool UserOpConfWrapper::has_input(const std::string& name, int32_t index, Where at) const {
  return index >= 0 && index < input_size(name, at);
}
bool UserOpConfWrapper::has_output(const std::string& name, int32_t index, Where at) const {
  return index >= 0 && index < output_size(name, at);
}

bool UserOpConfWrapper::HasAttribute(const std::string& name) const { return use_->HasAttribute(name); }
const void* UserOpConfWrapper::Attribute(const std::string& name, AttrType type, Where at) const {
  return use_->Attribute(name, type, at);
}

UserOpConfWrapperBuilder::UserOpConfWrapperBuilder(const std::string& op_name, pykernels::Where at)
    : use_(new pykernels::OpUse()) {
  use_->name = op_name;
  use_->where = at;
}
UserOpConfWrapperBuilder::UserOpConfWrapperBuilder(const UserOpConfWrapperBuilder& other)
    : use_(new pykernels::OpUse(*other.use_)) {}
UserOpConfWrapperBuilder::~UserOpConfWrapperBuilder() = default;

UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::OpTypeName(const std::string& op_type_name) {
  use_->type = op_type_name;
  return *this;
}
UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::Op(const std::string& op_type_name) {
  return OpTypeName(op_type_name);
}

UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::InputBind(const std::string& name, const std::string& blob) {
  pykernels::OpUse::Blobs(&use_->inputs, name)->push_back(blob);
  return *this;
}
UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::Input(const std::string& name, const std::string& blob) {
  return InputBind(name, blob);
}

UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::Output(const std::string& name, int32_t count) {
  std::vector<std::string>* blobs = pykernels::OpUse::Blobs(&use_->outputs, name);
  blobs->clear();
  for (int32_t i = 0; i < count; ++i) { blobs->push_back(use_->OutputBlob(name, i)); }
  return *this;
}

UserOpConfWrapperBuilder& UserOpConfWrapperBuilder::SetAttribute(const std::string& name, AttrType type,
                                                                 const void* value) {
  AttrVal converted = MakeAttrVal(type, value);
  for (pykernels::BoundAttribute& attribute : use_->attributes) {
    if (attribute.name == name) {
      attribute = {name, std::move(converted)};
      return *this;
    }
  }
  use_->Add(name, converted);
  return *this;
}

UserOpConfWrapper UserOpConfWrapperBuilder::Build() {
  if (const pykernels::Declaration* declaration = pykernels::FindDeclaration(use_->type)) {
    for (const pykernels::ArgumentDecl& output : declaration->outputs) {
      const bool given = pykernels::FindNamed(use_->outputs, output.name) != nullptr;
      if (output.IsFixed() && !given) { Output(output.name, output.count); }
    }
  }
  return UserOpConfWrapper(std::shared_ptr<const pykernels::OpUse>(new pykernels::OpUse(*use_)));
}

}  // namespace user_op
}  // namespace oneflow
