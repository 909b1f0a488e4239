// Converts the attributes of an op between OneFlow's values and those of the C ABI.
#pragma once

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "../host/attributes.h"
#include "../host/error.h"
#include "../host/literal.h"
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

// Whether a pk_attr holds OneFlow's type as an integer.
template <typename T>
constexpr bool kIsWhole = std::is_integral_v<T> || std::is_enum_v<T>;

inline of::Shape MakeShape(const int64_t* dims, int64_t ndim) { return of::Shape(of::DimVector(dims, dims + ndim)); }

// Returns the value of an attribute as OneFlow's type.
template <typename T>
T ToOneFlow(const pk_attr& attribute) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(attribute.real);
  } else if constexpr (kIsWhole<T>) {
    return static_cast<T>(attribute.integer);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return attribute.text;
  } else if constexpr (std::is_same_v<T, of::Shape>) {
    return MakeShape(attribute.integers, attribute.count);
  } else if constexpr (std::is_same_v<T, std::vector<float>>) {
    return {attribute.reals, attribute.reals + attribute.count};
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return {attribute.texts, attribute.texts + attribute.count};
  } else {
    T values;
    const int64_t* at = attribute.integers;
    for (int32_t i = 0; i < attribute.count; ++i) {
      if constexpr (std::is_same_v<T, std::vector<of::Shape>>) {
        values.push_back(MakeShape(at + 1, *at));
        at += *at;
      } else {
        values.push_back(static_cast<typename T::value_type>(*at));
      }
      ++at;
    }
    return values;
  }
}

// Returns a 32-bit float as the rest of the code holds it: the double with the same shortest decimal.
inline double FromFloat(float value) {
  for (int digits = 6; digits <= 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    const std::optional<double> decimal = ParseReal(text);
    if (decimal && static_cast<float>(*decimal) == value) return *decimal;
  }
  return value;
}

// Converts OneFlow's value of the attribute `name`.
template <typename T>
std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const T& value) {
  pk_attr attribute{};
  attribute.name = name;
  attribute.type = type;
  attribute.count = 1;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<const char*> texts;
  if constexpr (std::is_same_v<T, float>) {
    attribute.real = FromFloat(value);
  } else if constexpr (std::is_same_v<T, double>) {
    attribute.real = value;
  } else if constexpr (kIsWhole<T>) {
    attribute.integer = static_cast<int64_t>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    attribute.text = value.c_str();
  } else {
    attribute.count = static_cast<int32_t>(value.size());
    for (const auto& item : value) {
      using Item = std::decay_t<decltype(item)>;
      if constexpr (std::is_same_v<Item, float>) {
        reals.push_back(FromFloat(item));
      } else if constexpr (std::is_same_v<Item, std::string>) {
        texts.push_back(item.c_str());
      } else if constexpr (std::is_same_v<Item, of::Shape>) {
        integers.push_back(static_cast<int64_t>(item.size()));
        integers.insert(integers.end(), item.begin(), item.end());
      } else {
        integers.push_back(static_cast<int64_t>(item));
      }
    }
    attribute.integers = integers.data();
    attribute.reals = reals.data();
    attribute.texts = texts.data();
  }
  return std::make_unique<const AttributeValue>(attribute);
}

// Returns whether an attribute has this OneFlow value.
template <typename T>
bool Holds(const pk_attr& attribute, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    // The signs distinguish zeros, which compare equal.
    return static_cast<T>(attribute.real) == value && std::signbit(attribute.real) == std::signbit(value);
  } else if constexpr (kIsWhole<T>) {
    return attribute.integer == static_cast<int64_t>(value);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value == attribute.text;
  } else {
    return SameValue(FromOneFlow(attribute.name, attribute.type, value)->get(), attribute);
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

// `Context` is one of OneFlow's contexts or the wrapper of a configuration.
template <typename Context>
class AttributesOf final : public AttributeSource {
 public:
  explicit AttributesOf(const Context& context) : context_(context) {}

  bool Has(const pk_attr& attribute) const override {
    return VisitType(attribute.type, [&](auto type) {
      return Holds<typename decltype(type)::type>(attribute, Get<typename decltype(type)::type>(attribute.name));
    });
  }
  std::unique_ptr<const AttributeValue> Read(const char* name, int32_t type) const override {
    return VisitType(type, [&](auto of_type) {
      return FromOneFlow<typename decltype(of_type)::type>(name, type, Get<typename decltype(of_type)::type>(name));
    });
  }
  bool IsTrain() const override { return Get<bool>(kIsTrain); }

 private:
  template <typename T>
  decltype(auto) Get(const std::string& name) const {
    if constexpr (std::is_same_v<Context, user_op::UserOpConfWrapper>) {
      return context_.template attr<T>(name);
    } else {
      return context_.template Attr<T>(name);
    }
  }

  const Context& context_;
};

// Sets the attribute on one of OneFlow's builders.
template <typename Builder>
void SetAttribute(const pk_attr& attribute, Builder* builder) {
  VisitType(attribute.type, [&](auto type) {
    using T = typename decltype(type)::type;
    builder->template Attr<T>(attribute.name, ToOneFlow<T>(attribute));
  });
}

}  // namespace pykernels::oneflow
