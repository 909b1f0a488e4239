/* The values of attributes, as the C ABI stores them. */
#pragma once

#include <cstdio>
#include <cstdlib>

#include "oneflow/core/framework/attr_value.h"

namespace oneflow {

inline const char* AttrTypeName(int type) {
  static const char* const kNames[] = {
      "unknown", "int32", "int64", "bool", "float", "double", "string", "shape",
      "data type", "list of int32", "list of int64", "list of float",
      "list of data types", "list of shapes", "list of strings"};
  return kNames[type >= kAtInt32 && type <= kAtListString ? type : 0];
}

namespace user_op {

/* The value of an attribute. As in pk_attr, the type determines which members hold it. */
class AttrVal {
 public:
  AttrVal() = default;
  explicit AttrVal(AttrType attr_type) : type(attr_type) {}
  explicit AttrVal(const pk_attr& attr) : type(static_cast<AttrType>(attr.type)) {
    const size_t count = static_cast<size_t>(attr.count);
    integer = attr.integer;
    real = attr.real;
    if (attr.text != nullptr) { text = attr.text; }
    if (type == kAtListFloat) {
      reals.assign(attr.reals, attr.reals + count);
    } else if (type == kAtListString) {
      texts.assign(attr.texts, attr.texts + count);
    } else if (type == kAtListShape) {
      const int64_t* at = attr.integers;
      for (size_t i = 0; i < count; at += 1 + *at, ++i) { shapes.emplace_back(at + 1, at + 1 + *at); }
    } else if (attr.integers != nullptr) {
      integers.assign(attr.integers, attr.integers + count);
    }
  }

  /* The result points into this object and into `name`. */
  pk_attr View(const std::string& name) {
    flat_.clear();
    text_pointers_.clear();
    for (const std::string& one : texts) { text_pointers_.push_back(one.c_str()); }
    for (const auto& shape : shapes) {
      flat_.push_back(static_cast<int64_t>(shape.size()));
      flat_.insert(flat_.end(), shape.begin(), shape.end());
    }
    pk_attr attr{};
    attr.name = name.c_str();
    attr.type = type;
    attr.count = Count();
    attr.integer = integer;
    attr.real = real;
    attr.text = text.c_str();
    attr.integers = type == kAtListShape ? flat_.data() : integers.data();
    attr.reals = reals.data();
    attr.texts = text_pointers_.data();
    return attr;
  }

  AttrType type = kAtInt32;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::vector<std::vector<int64_t>> shapes;

 private:
  int32_t Count() const {
    switch (type) {
      case kAtShape:
      case kAtListInt32:
      case kAtListInt64:
      case kAtListDataType: return static_cast<int32_t>(integers.size());
      case kAtListFloat: return static_cast<int32_t>(reals.size());
      case kAtListString: return static_cast<int32_t>(texts.size());
      case kAtListShape: return static_cast<int32_t>(shapes.size());
      default: return 1;
    }
  }

  std::vector<int64_t> flat_;
  std::vector<const char*> text_pointers_;
};

/* Returns the double with the same shortest decimal form as a float, so that 0.1f reads as 0.1. */
inline double ToDouble(double value) { return value; }
inline double ToDouble(float value) {
  char decimal[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(decimal, sizeof(decimal), "%.*g", digits, static_cast<double>(value));
    if (std::strtof(decimal, nullptr) == value) { return std::strtod(decimal, nullptr); }
  }
  return static_cast<double>(value);  // not a number
}

template<typename T>
T ToInteger(int64_t value) {
  const T narrow = static_cast<T>(value);
  CHECK_EQ(static_cast<int64_t>(narrow), value) << "the value does not fit the type of the attribute";
  return narrow;
}

/* Writes a C++ type to an AttrVal and reads it back. */
template<typename T>
struct AttrTraits {
  static void Write(T value, AttrVal* to) { to->integer = static_cast<int64_t>(value); }
  static T Read(const AttrVal& from) { return ToInteger<T>(from.integer); }
};
template<typename T>
struct RealAttr {
  static void Write(T value, AttrVal* to) { to->real = ToDouble(value); }
  static T Read(const AttrVal& from) { return static_cast<T>(from.real); }
};
template<typename T>
struct IntegerListAttr {
  static void Write(const T& values, AttrVal* to) {
    for (auto value : values) { to->integers.push_back(static_cast<int64_t>(value)); }
  }
  static T Read(const AttrVal& from) {
    T values;
    for (int64_t value : from.integers) { values.push_back(ToInteger<typename T::value_type>(value)); }
    return values;
  }
};

template<>
struct AttrTraits<float> : RealAttr<float> {};
template<>
struct AttrTraits<double> : RealAttr<double> {};
template<>
struct AttrTraits<Shape> : IntegerListAttr<Shape> {};
template<>
struct AttrTraits<std::vector<int32_t>> : IntegerListAttr<std::vector<int32_t>> {};
template<>
struct AttrTraits<std::vector<int64_t>> : IntegerListAttr<std::vector<int64_t>> {};
template<>
struct AttrTraits<std::vector<DataType>> : IntegerListAttr<std::vector<DataType>> {};
template<>
struct AttrTraits<std::string> {
  static void Write(const std::string& value, AttrVal* to) { to->text = value; }
  static std::string Read(const AttrVal& from) { return from.text; }
};
template<>
struct AttrTraits<std::vector<float>> {
  static void Write(const std::vector<float>& values, AttrVal* to) {
    for (float value : values) { to->reals.push_back(ToDouble(value)); }
  }
  static std::vector<float> Read(const AttrVal& from) { return {from.reals.begin(), from.reals.end()}; }
};
template<>
struct AttrTraits<std::vector<std::string>> {
  static void Write(const std::vector<std::string>& values, AttrVal* to) { to->texts = values; }
  static std::vector<std::string> Read(const AttrVal& from) { return from.texts; }
};
template<>
struct AttrTraits<std::vector<Shape>> {
  static void Write(const std::vector<Shape>& values, AttrVal* to) {
    for (const Shape& shape : values) { to->shapes.emplace_back(shape.begin(), shape.end()); }
  }
  static std::vector<Shape> Read(const AttrVal& from) {
    std::vector<Shape> shapes;
    for (const auto& dims : from.shapes) { shapes.emplace_back(dims.begin(), dims.end()); }
    return shapes;
  }
};

/* Calls `function` with a null pointer to the C++ type of an attribute type. */
template<typename Function>
auto WithTypeOf(AttrType type, const Function& function) {
#define PK_CASE(number, T) \
  case number: return function(static_cast<T*>(nullptr));
  switch (type) { PK_ATTR_TYPES(PK_CASE) }
#undef PK_CASE
  throw pykernels::Failure("an attribute has no type");
}

/* Returns the attribute whose value of the C++ type of `type` lies at `value`. */
inline AttrVal MakeAttrVal(AttrType type, const void* value) {
  AttrVal result(type);
  WithTypeOf(type, [&](auto* typed) {
    using T = std::remove_pointer_t<decltype(typed)>;
    AttrTraits<T>::Write(*static_cast<const T*>(value), &result);
  });
  return result;
}

/* Returns the value of an attribute as its C++ type. */
inline std::shared_ptr<void> ReadAttrVal(const AttrVal& value) {
  return WithTypeOf(value.type, [&](auto* typed) -> std::shared_ptr<void> {
    using T = std::remove_pointer_t<decltype(typed)>;
    // One type of shared pointer takes less time to compile than fourteen.
    void* const made = new T(AttrTraits<T>::Read(value));
    return {made, +[](void* last) { delete static_cast<T*>(last); }};
  });
}

/* Converts `value` to an attribute type, such as an int to int64 or a double to float. Returns false if the types do
 * not match or the value does not fit. */
inline bool ConvertAttrVal(AttrVal* value, AttrType type) {
  const auto integral = [](AttrType t) { return t == kAtInt32 || t == kAtInt64 || t == kAtBool; };
  const auto real = [](AttrType t) { return t == kAtFloat || t == kAtDouble; };
  const auto integers = [](AttrType t) { return t == kAtListInt32 || t == kAtListInt64 || t == kAtShape; };
  if (integral(value->type) && real(type)) {
    value->real = static_cast<double>(value->integer);
  } else if (real(value->type) && real(type)) {
    if (type == kAtFloat) { value->real = ToDouble(static_cast<float>(value->real)); }
  } else if (!(value->type == type || (integral(value->type) && integral(type) && type != kAtBool)
               || (integers(value->type) && integers(type)))) {
    return false;
  }
  const bool fits = type != kAtInt32 || value->integer == static_cast<int32_t>(value->integer);
  value->type = type;
  return fits;
}

}  // namespace user_op
}  // namespace oneflow
