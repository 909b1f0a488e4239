// Converts the attributes of an op between OneFlow's values and those of the C ABI.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "../host/attributes.h"
#include "../host/error.h"
#include "headers.h"

namespace pykernels::oneflow {

// An attribute that every op in OneFlow has besides its own: whether the call is part of a training pass.
inline const std::string kIsTrain = "pykernels_is_train";
// Another such attribute, set in graphs: where the op was called.
inline const std::string kCaller = "pykernels_caller";

template <typename T>
struct Type {
  using type = T;
};

// Calls `visit` with OneFlow's Type for a pk_attr_type.
template <typename Visit>
auto VisitType(int32_t type, const Visit& visit) {
  switch (type) {
    case PK_ATTR_INT32: return visit(Type<int32_t>());
    case PK_ATTR_INT64: return visit(Type<int64_t>());
    case PK_ATTR_BOOL: return visit(Type<bool>());
    case PK_ATTR_FLOAT: return visit(Type<float>());
    case PK_ATTR_DOUBLE: return visit(Type<double>());
    case PK_ATTR_STRING: return visit(Type<std::string>());
    case PK_ATTR_SHAPE: return visit(Type<of::Shape>());
    case PK_ATTR_DTYPE: return visit(Type<of::DataType>());
    case PK_ATTR_LIST_INT32: return visit(Type<std::vector<int32_t>>());
    case PK_ATTR_LIST_INT64: return visit(Type<std::vector<int64_t>>());
    case PK_ATTR_LIST_FLOAT: return visit(Type<std::vector<float>>());
    case PK_ATTR_LIST_DTYPE: return visit(Type<std::vector<of::DataType>>());
    case PK_ATTR_LIST_SHAPE: return visit(Type<std::vector<of::Shape>>());
    case PK_ATTR_LIST_STRING: return visit(Type<std::vector<std::string>>());
    default: Fail(kDefinitionError, "OneFlow has no attributes of type ", type);
  }
}

// Returns the value of an attribute as OneFlow's type.
template <typename T>
T ToOneFlow(const pk_attr& attribute);

// Convert OneFlow's value of the attribute `name`.
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, int64_t value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, double value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::string& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const of::Shape& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<int32_t>& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<int64_t>& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<float>& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<of::DataType>& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<of::Shape>& value);
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<std::string>& value);

// Return whether an attribute has this OneFlow value.
bool Holds(const pk_attr& attribute, int64_t value);
bool Holds(const pk_attr& attribute, double value);
bool Holds(const pk_attr& attribute, const std::string& value);
template <typename T>
bool Holds(const pk_attr& attribute, const T& value) {
  return SameValue(FromOneFlow(attribute.name, attribute.type, value)->get(), attribute);
}

// Converts numbers and enumerations to one of the two widths that a pk_attr holds; returns other values unchanged.
template <typename T>
decltype(auto) Widen(const T& value) {
  if constexpr (std::is_floating_point<T>::value) {
    return static_cast<double>(value);
  } else if constexpr (std::is_arithmetic<T>::value || std::is_enum<T>::value) {
    return static_cast<int64_t>(value);
  } else {
    return (value);
  }
}

// The attributes of an op in one of OneFlow's contexts.
class AttributeSource {
 public:
  virtual ~AttributeSource() = default;
  virtual bool Has(const pk_attr& attribute) const = 0;
  virtual std::unique_ptr<const AttributeValue> Read(const char* name, int32_t type) const = 0;
  virtual bool IsTrain() const = 0;
};

// `Get` has a function `template <T> T Value(name)`.
template <typename Get>
class AttributesOf final : public AttributeSource {
 public:
  explicit AttributesOf(const Get& get) : get_(get) {}

  bool Has(const pk_attr& attribute) const override {
    return VisitType(attribute.type, [&](auto type) {
      return Holds(attribute, Widen(get_.template Value<typename decltype(type)::type>(attribute.name)));
    });
  }
  std::unique_ptr<const AttributeValue> Read(const char* name, int32_t type) const override {
    return VisitType(type, [&](auto of_type) {
      return FromOneFlow(name, type, Widen(get_.template Value<typename decltype(of_type)::type>(name)));
    });
  }
  bool IsTrain() const override { return get_.template Value<bool>(kIsTrain); }

 private:
  Get get_;
};

// For contexts whose method is named Attr.
template <typename Context>
struct ContextAttributes {
  const Context* context;
  template <typename T>
  decltype(auto) Value(const std::string& name) const {
    return context->template Attr<T>(name);
  }
};

// For those whose method is named attr.
template <typename Wrapper>
struct WrapperAttributes {
  const Wrapper* wrapper;
  template <typename T>
  decltype(auto) Value(const std::string& name) const {
    return wrapper->template attr<T>(name);
  }
};

template <typename Context>
AttributesOf<ContextAttributes<Context>> AttributesOfContext(const Context& context) {
  return AttributesOf<ContextAttributes<Context>>({&context});
}

template <typename Wrapper>
AttributesOf<WrapperAttributes<Wrapper>> AttributesOfWrapper(const Wrapper& wrapper) {
  return AttributesOf<WrapperAttributes<Wrapper>>({&wrapper});
}

// Sets the attribute on one of OneFlow's builders.
template <typename Builder>
void SetAttribute(const pk_attr& attribute, Builder* builder) {
  VisitType(attribute.type, [&](auto type) {
    using T = typename decltype(type)::type;
    builder->template Attr<T>(attribute.name, ToOneFlow<T>(attribute));
  });
}

}  // namespace pykernels::oneflow
