#include "values.h"

#include <cmath>
#include <cstdio>
#include <utility>

namespace pykernels::torch_ops {
namespace {

constexpr std::pair<at::ScalarType, int32_t> kTypes[] = {
    {at::kFloat, PK_FLOAT32},         {at::kDouble, PK_FLOAT64},       {at::kHalf, PK_FLOAT16},
    {at::kBFloat16, PK_BFLOAT16},     {at::kLong, PK_INT64},           {at::kInt, PK_INT32},
    {at::kShort, PK_INT16},           {at::kChar, PK_INT8},            {at::kByte, PK_UINT8},
    {at::kUInt16, PK_UINT16},         {at::kUInt32, PK_UINT32},        {at::kUInt64, PK_UINT64},
    {at::kBool, PK_BOOL},             {at::kComplexFloat, PK_COMPLEX64}, {at::kComplexDouble, PK_COMPLEX128},
};

// Returns the type of a list's items; `type` itself if it is not a list.
int32_t ItemType(int32_t type) {
  switch (type) {
    case PK_ATTR_SHAPE:
    case PK_ATTR_LIST_INT64: return PK_ATTR_INT64;
    case PK_ATTR_LIST_INT32: return PK_ATTR_INT32;
    case PK_ATTR_LIST_FLOAT: return PK_ATTR_FLOAT;
    case PK_ATTR_LIST_DTYPE: return PK_ATTR_DTYPE;
    case PK_ATTR_LIST_SHAPE: return PK_ATTR_SHAPE;
    case PK_ATTR_LIST_STRING: return PK_ATTR_STRING;
    default: return type;
  }
}

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

int64_t NumberOfDtype(int64_t dtype) { return static_cast<int64_t>(ToScalarType(static_cast<int32_t>(dtype))); }

std::vector<int64_t> Integers(const pk_attr& attribute) {
  return {attribute.integers, attribute.integers + attribute.count};
}

c10::List<std::vector<int64_t>> Shapes(const pk_attr& attribute) {
  c10::List<std::vector<int64_t>> shapes;
  const int64_t* at = attribute.integers;
  for (int32_t i = 0; i < attribute.count; ++i) {
    shapes.push_back(std::vector<int64_t>(at + 1, at + 1 + *at));
    at += 1 + *at;
  }
  return shapes;
}

}  // namespace

int32_t FromScalarType(at::ScalarType type) {
  for (const auto& [ours, number] : kTypes) {
    if (ours == type) return number;
  }
  return PK_INVALID_DTYPE;
}

at::ScalarType ToScalarType(int32_t dtype) {
  for (const auto& [type, number] : kTypes) {
    if (number == dtype) return type;
  }
  return at::ScalarType::Undefined;
}

std::string ToText(const IValue& value, int32_t type) {
  const int32_t item = ItemType(type);
  if (item != type) {
    std::string text = "[";
    for (const IValue& each : value.toListRef()) {
      const std::string shown = ToText(each, item);
      text += (item == PK_ATTR_STRING ? Quoted(shown) : shown) + ", ";
    }
    return text + "]";
  }
  switch (type) {
    case PK_ATTR_BOOL: return value.toBool() ? "True" : "False";
    case PK_ATTR_STRING: return value.toStringRef();
    case PK_ATTR_DTYPE: return std::to_string(FromScalarType(static_cast<at::ScalarType>(value.toInt())));
    case PK_ATTR_FLOAT:
    case PK_ATTR_DOUBLE: {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", value.toDouble());
      return text;
    }
    default: return std::to_string(value.toInt());
  }
}

IValue ToValue(const pk_attr& attribute) {
  switch (attribute.type) {
    case PK_ATTR_BOOL: return attribute.integer != 0;
    case PK_ATTR_FLOAT:
    case PK_ATTR_DOUBLE: return attribute.real;
    case PK_ATTR_STRING: return std::string(attribute.text);
    case PK_ATTR_DTYPE: return NumberOfDtype(attribute.integer);
    case PK_ATTR_SHAPE:
    case PK_ATTR_LIST_INT32:
    case PK_ATTR_LIST_INT64: return Integers(attribute);
    case PK_ATTR_LIST_FLOAT: return std::vector<double>(attribute.reals, attribute.reals + attribute.count);
    case PK_ATTR_LIST_DTYPE: {
      std::vector<int64_t> numbers = Integers(attribute);
      for (int64_t& number : numbers) number = NumberOfDtype(number);
      return numbers;
    }
    case PK_ATTR_LIST_SHAPE: return Shapes(attribute);
    case PK_ATTR_LIST_STRING: {
      c10::List<std::string> texts;
      for (int32_t i = 0; i < attribute.count; ++i) texts.push_back(attribute.texts[i]);
      return texts;
    }
    default: return attribute.integer;
  }
}

bool SameValue(const IValue& a, const IValue& b) {
  if (a.isDouble() && b.isDouble()) {
    const double x = a.toDouble(), y = b.toDouble();
    return x == y && std::signbit(x) == std::signbit(y);
  }
  if (a.isInt() && b.isInt()) return a.toInt() == b.toInt();
  if (a.isBool() && b.isBool()) return a.toBool() == b.toBool();
  return a == b;
}

}  // namespace pykernels::torch_ops
