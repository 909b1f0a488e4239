#include "attributes.h"

#include <cmath>
#include <cstring>

#include "../host/literal.h"

namespace pykernels::oneflow {
namespace {

// Returns a 32-bit float as the rest of the code holds it: the double with the same shortest decimal.
double FromFloat(float value) {
  for (int digits = 6; digits <= 9; ++digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    const std::optional<double> decimal = ParseReal(text);
    if (decimal && static_cast<float>(*decimal) == value) return *decimal;
  }
  return value;
}

pk_attr Blank(const char* name, int32_t type, size_t count) {
  pk_attr attribute{};
  attribute.name = name;
  attribute.type = type;
  attribute.count = static_cast<int32_t>(count);
  return attribute;
}

std::unique_ptr<const AttributeValue> FromIntegers(const char* name, int32_t type, size_t count,
                                                   const std::vector<int64_t>& integers) {
  pk_attr attribute = Blank(name, type, count);
  attribute.integers = integers.data();
  return std::make_unique<const AttributeValue>(attribute);
}

template <typename T>
std::vector<T> Integers(const pk_attr& attribute) {
  std::vector<T> values;
  for (int32_t i = 0; i < attribute.count; ++i) values.push_back(static_cast<T>(attribute.integers[i]));
  return values;
}

of::Shape MakeShape(const int64_t* dims, int64_t ndim) { return of::Shape(of::DimVector(dims, dims + ndim)); }

}  // namespace

template <>
int32_t ToOneFlow(const pk_attr& attribute) {
  return static_cast<int32_t>(attribute.integer);
}
template <>
int64_t ToOneFlow(const pk_attr& attribute) {
  return attribute.integer;
}
template <>
bool ToOneFlow(const pk_attr& attribute) {
  return attribute.integer != 0;
}
template <>
float ToOneFlow(const pk_attr& attribute) {
  return static_cast<float>(attribute.real);
}
template <>
double ToOneFlow(const pk_attr& attribute) {
  return attribute.real;
}
template <>
std::string ToOneFlow(const pk_attr& attribute) {
  return attribute.text;
}
template <>
of::DataType ToOneFlow(const pk_attr& attribute) {
  return static_cast<of::DataType>(attribute.integer);
}
template <>
of::Shape ToOneFlow(const pk_attr& attribute) {
  return MakeShape(attribute.integers, attribute.count);
}
template <>
std::vector<int32_t> ToOneFlow(const pk_attr& attribute) {
  return Integers<int32_t>(attribute);
}
template <>
std::vector<int64_t> ToOneFlow(const pk_attr& attribute) {
  return Integers<int64_t>(attribute);
}
template <>
std::vector<of::DataType> ToOneFlow(const pk_attr& attribute) {
  return Integers<of::DataType>(attribute);
}
template <>
std::vector<float> ToOneFlow(const pk_attr& attribute) {
  return std::vector<float>(attribute.reals, attribute.reals + attribute.count);
}
template <>
std::vector<of::Shape> ToOneFlow(const pk_attr& attribute) {
  std::vector<of::Shape> shapes;
  const int64_t* at = attribute.integers;
  for (int32_t i = 0; i < attribute.count; ++i) {
    shapes.push_back(MakeShape(at + 1, *at));
    at += 1 + *at;
  }
  return shapes;
}
template <>
std::vector<std::string> ToOneFlow(const pk_attr& attribute) {
  return std::vector<std::string>(attribute.texts, attribute.texts + attribute.count);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, int64_t value) {
  pk_attr attribute = Blank(name, type, 1);
  attribute.integer = value;
  return std::make_unique<const AttributeValue>(attribute);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, double value) {
  pk_attr attribute = Blank(name, type, 1);
  attribute.real = type == PK_ATTR_FLOAT ? FromFloat(static_cast<float>(value)) : value;
  return std::make_unique<const AttributeValue>(attribute);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::string& value) {
  pk_attr attribute = Blank(name, type, 1);
  attribute.text = value.c_str();
  return std::make_unique<const AttributeValue>(attribute);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const of::Shape& value) {
  return FromIntegers(name, type, value.size(), {value.begin(), value.end()});
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<int32_t>& value) {
  return FromIntegers(name, type, value.size(), {value.begin(), value.end()});
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<int64_t>& value) {
  return FromIntegers(name, type, value.size(), value);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<of::DataType>& value) {
  std::vector<int64_t> integers;
  for (of::DataType dtype : value) integers.push_back(dtype);
  return FromIntegers(name, type, value.size(), integers);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<of::Shape>& value) {
  std::vector<int64_t> integers;
  for (const of::Shape& shape : value) {
    integers.push_back(static_cast<int64_t>(shape.size()));
    integers.insert(integers.end(), shape.begin(), shape.end());
  }
  return FromIntegers(name, type, value.size(), integers);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type, const std::vector<float>& value) {
  std::vector<double> reals;
  for (float real : value) reals.push_back(FromFloat(real));
  pk_attr attribute = Blank(name, type, value.size());
  attribute.reals = reals.data();
  return std::make_unique<const AttributeValue>(attribute);
}

std::unique_ptr<const AttributeValue> FromOneFlow(const char* name, int32_t type,
                                                  const std::vector<std::string>& value) {
  std::vector<const char*> texts;
  for (const std::string& text : value) texts.push_back(text.c_str());
  pk_attr attribute = Blank(name, type, value.size());
  attribute.texts = texts.data();
  return std::make_unique<const AttributeValue>(attribute);
}

bool Holds(const pk_attr& attribute, int64_t value) { return attribute.integer == value; }

bool Holds(const pk_attr& attribute, double value) {
  if (std::signbit(attribute.real) != std::signbit(value)) return false;  // distinguishes zeros, which compare equal
  if (attribute.type != PK_ATTR_FLOAT) return attribute.real == value;
  return static_cast<float>(attribute.real) == static_cast<float>(value);
}

bool Holds(const pk_attr& attribute, const std::string& value) { return value == attribute.text; }

}  // namespace pykernels::oneflow
