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
    for (size_t i = 0; i < count; ++i) {
      if (type == kAtListFloat) {
        reals.push_back(attr.reals[i]);
      } else if (type == kAtListString) {
        texts.push_back(attr.texts[i]);
      } else if (type == kAtListShape) {
        const int64_t* dims = attr.integers + integers.size();
        for (int64_t j = 0; j <= dims[0]; ++j) { integers.push_back(dims[j]); }
      } else if (attr.integers != nullptr) {
        integers.push_back(attr.integers[i]);
      }
    }
  }

  /* The result points into this object and into `name`. */
  pk_attr View(const std::string& name) {
    text_pointers_.clear();
    for (const std::string& one : texts) { text_pointers_.push_back(one.c_str()); }
    pk_attr attr{};
    attr.name = name.c_str();
    attr.type = type;
    attr.count = Count();
    attr.integer = integer;
    attr.real = real;
    attr.text = text.c_str();
    attr.integers = integers.data();
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

 private:
  int32_t Count() const {
    switch (type) {
      case kAtShape:
      case kAtListInt32:
      case kAtListInt64:
      case kAtListDataType: return static_cast<int32_t>(integers.size());
      case kAtListFloat: return static_cast<int32_t>(reals.size());
      case kAtListString: return static_cast<int32_t>(texts.size());
      case kAtListShape: {
        int32_t count = 0;
        for (size_t at = 0; at < integers.size(); at += 1 + static_cast<size_t>(integers[at])) { ++count; }
        return count;
      }
      default: return 1;
    }
  }

  std::vector<const char*> text_pointers_;
};

/* Returns the double with the same shortest decimal form as a float, so that 0.1f reads as 0.1. */
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
  if (static_cast<int64_t>(narrow) == value) { return narrow; }
  throw pykernels::Failure("the value does not fit the type of the attribute");
}

/* Appends the integers of a list, of an attribute or for one, and returns `to`. */
template<typename From, typename To>
To* AppendIntegers(const From& from, To* to) {
  for (auto value : from) { to->push_back(ToInteger<typename To::value_type>(static_cast<int64_t>(value))); }
  return to;
}

/* Returns the attribute whose value of the C++ type of `type` lies at `value`. */
inline AttrVal MakeAttrVal(AttrType type, const void* value) {
  AttrVal made(type);
  switch (type) {
    case kAtInt32: made.integer = *static_cast<const int32_t*>(value); break;
    case kAtInt64: made.integer = *static_cast<const int64_t*>(value); break;
    case kAtBool: made.integer = *static_cast<const bool*>(value); break;
    case kAtDataType: made.integer = *static_cast<const DataType*>(value); break;
    case kAtFloat: made.real = ToDouble(*static_cast<const float*>(value)); break;
    case kAtDouble: made.real = *static_cast<const double*>(value); break;
    case kAtString: made.text = *static_cast<const std::string*>(value); break;
    case kAtShape: AppendIntegers(*static_cast<const Shape*>(value), &made.integers); break;
    case kAtListInt32: AppendIntegers(*static_cast<const std::vector<int32_t>*>(value), &made.integers); break;
    case kAtListInt64: AppendIntegers(*static_cast<const std::vector<int64_t>*>(value), &made.integers); break;
    case kAtListDataType: AppendIntegers(*static_cast<const std::vector<DataType>*>(value), &made.integers); break;
    case kAtListString: made.texts = *static_cast<const std::vector<std::string>*>(value); break;
    case kAtListFloat:
      for (float each : *static_cast<const std::vector<float>*>(value)) { made.reals.push_back(ToDouble(each)); }
      break;
    case kAtListShape:
      for (const Shape& shape : *static_cast<const std::vector<Shape>*>(value)) {
        made.integers.push_back(static_cast<int64_t>(shape.size()));
        AppendIntegers(shape, &made.integers);
      }
  }
  return made;
}

/* The value of an attribute as its C++ type: one of the members, to which `value` points. */
struct TypedAttr {
  explicit TypedAttr(const AttrVal& from);
  TypedAttr(const TypedAttr&) = delete;

  const void* value;
  int32_t int32;
  int64_t int64;
  bool boolean;
  float float32;
  double float64;
  DataType data_type;
  std::string text;
  Shape shape;
  std::vector<int32_t> list_int32;
  std::vector<int64_t> list_int64;
  std::vector<float> list_float;
  std::vector<DataType> list_data_type;
  std::vector<Shape> list_shape;
  std::vector<std::string> list_text;
};

inline TypedAttr::TypedAttr(const AttrVal& from) {
  switch (from.type) {
    case kAtInt32: value = &(int32 = ToInteger<int32_t>(from.integer)); break;
    case kAtInt64: value = &(int64 = from.integer); break;
    case kAtBool: value = &(boolean = ToInteger<bool>(from.integer)); break;
    case kAtDataType: value = &(data_type = ToInteger<DataType>(from.integer)); break;
    case kAtFloat: value = &(float32 = static_cast<float>(from.real)); break;
    case kAtDouble: value = &(float64 = from.real); break;
    case kAtString: value = &(text = from.text); break;
    case kAtShape: value = AppendIntegers(from.integers, &shape); break;
    case kAtListInt32: value = AppendIntegers(from.integers, &list_int32); break;
    case kAtListInt64: value = &(list_int64 = from.integers); break;
    case kAtListDataType: value = AppendIntegers(from.integers, &list_data_type); break;
    case kAtListString: value = &(list_text = from.texts); break;
    case kAtListFloat:
      for (double each : from.reals) { list_float.push_back(static_cast<float>(each)); }
      value = &list_float;
      break;
    case kAtListShape:
      for (size_t at = 0; at < from.integers.size(); at += 1 + list_shape.back().size()) {
        Shape dims;
        for (int64_t i = 1; i <= from.integers[at]; ++i) { dims.push_back(from.integers[at + static_cast<size_t>(i)]); }
        list_shape.push_back(dims);
      }
      value = &list_shape;
  }
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
