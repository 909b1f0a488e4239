/* user_op::UserOpConfWrapper, one use of an op, and the builder that creates another one for a gradient. */
#pragma once

#include "oneflow/core/framework/attr_value.h"
#include "oneflow/core/framework/tensor_desc.h"

namespace pykernels {

struct OpUse;
/* The name of an argument, and the index of one of its tensors. */
using TensorKey = std::pair<std::string, int32_t>;

}  // namespace pykernels

namespace oneflow {
namespace user_op {

class OpArg final {
 public:
  OpArg(const std::string& name, int32_t index);
  OpArg(const OpArg&);
  ~OpArg();

  const std::string& name() const { return name_; }
  int32_t index() const { return index_; }

 private:
  std::string name_;
  int32_t index_;
};

class UserOpConfWrapper {
 public:
  using Where = pykernels::Where;

  explicit UserOpConfWrapper(std::shared_ptr<const pykernels::OpUse> use);
  UserOpConfWrapper(const UserOpConfWrapper&);
  UserOpConfWrapper& operator=(const UserOpConfWrapper&);
  ~UserOpConfWrapper();

  const std::string& op_name() const;
  const std::string& op_type_name() const;

  const std::string& input(const std::string& name, int32_t index, Where at = Where::Here()) const;
  const std::string& output(const std::string& name, int32_t index, Where at = Where::Here()) const;
  int32_t input_size(const std::string& name, Where at = Where::Here()) const;
  int32_t output_size(const std::string& name, Where at = Where::Here()) const;
  bool has_input(const std::string& name, int32_t index, Where at = Where::Here()) const;
  bool has_output(const std::string& name, int32_t index, Where at = Where::Here()) const;

  template<typename T>
  const T& attr(const std::string& name, Where at = Where::Here()) const {
    return *static_cast<const T*>(Attribute(name, AttrTypeOf<T>::value, at));
  }
  template<typename T>
  T attr_or_default(const std::string& name, const T& otherwise, Where at = Where::Here()) const {
    return HasAttribute(name) ? attr<T>(name, at) : otherwise;
  }

  const std::shared_ptr<const pykernels::OpUse>& use() const { return use_; }

 private:
  bool HasAttribute(const std::string& name) const;
  const void* Attribute(const std::string& name, AttrType type, Where at) const;

  std::shared_ptr<const pykernels::OpUse> use_;
};

class UserOpConfWrapperBuilder final {
 public:
  using Self = UserOpConfWrapperBuilder;

  explicit UserOpConfWrapperBuilder(const std::string& op_name, pykernels::Where at = pykernels::Where::Here());
  UserOpConfWrapperBuilder(const UserOpConfWrapperBuilder&);
  ~UserOpConfWrapperBuilder();

  Self& OpTypeName(const std::string& op_type_name);
  Self& Op(const std::string& op_type_name);

  /* Binding an argument again appends a blob. */
  Self& InputBind(const std::string& name, const std::string& blob);
  Self& Input(const std::string& name, const std::string& blob);

  Self& Output(const std::string& name, int32_t count = 1);

  template<typename T>
  Self& Attr(const std::string& name, const T& value) {
    const AttrOf<T>& typed = value;
    return SetAttribute(name, AttrTypeOf<AttrOf<T>>::value, &typed);
  }

  /* Adds outputs that were left out but that the op always has. */
  UserOpConfWrapper Build();

 private:
  Self& SetAttribute(const std::string& name, AttrType type, const void* value);

  std::unique_ptr<pykernels::OpUse> use_;
};

}  // namespace user_op
}  // namespace oneflow
