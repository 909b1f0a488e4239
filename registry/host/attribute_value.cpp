// Parses, copies and compares the values of attributes.
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "attributes.h"
#include "literal.h"

namespace pykernels {
namespace {

bool FitsInt32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

// Returns how many numbers `attr.integers` points to.
size_t CountIntegers(const pk_attr& attr) {
  if (attr.type != PK_ATTR_LIST_SHAPE) return attr.count;
  size_t at = 0;
  for (int32_t i = 0; i < attr.count; ++i) at += 1 + attr.integers[at];
  return at;
}

// Compares bits: zeros of different sign differ, and a NaN equals itself.
bool SameBits(const double* a, const double* b, size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof *a) == 0;
}

// Appends the value to `to` if there is one.
template <typename T>
bool Append(const std::optional<T>& value, std::vector<T>* to) {
  if (value) to->push_back(*value);
  return value.has_value();
}

}  // namespace

AttributeValue::AttributeValue(const std::string& name, int32_t type) : name_(name) {
  attr_.type = type;
  attr_.count = 1;
}

AttributeValue::AttributeValue(const pk_attr& source) : attr_(source), name_(source.name) {
  if (source.text) text_ = source.text;
  if (source.integers) integers_.assign(source.integers, source.integers + CountIntegers(source));
  if (source.reals) reals_.assign(source.reals, source.reals + source.count);
  if (source.texts) strings_.assign(source.texts, source.texts + source.count);
  Seal();
}

std::unique_ptr<AttributeValue> AttributeValue::Parse(const std::string& name, int32_t type,
                                                      const std::string& text) {
  std::unique_ptr<AttributeValue> value(new AttributeValue(name, type));
  if (!value->Read(text)) return nullptr;
  value->Seal();
  return value;
}

bool AttributeValue::Read(const std::string& text) {
  switch (attr_.type) {
    case PK_ATTR_INT32:
    case PK_ATTR_INT64: {
      const std::optional<int64_t> value = ParseInteger(text);
      if (!value || (attr_.type == PK_ATTR_INT32 && !FitsInt32(*value))) return false;
      attr_.integer = *value;
      return true;
    }
    case PK_ATTR_BOOL: {
      const std::optional<bool> value = ParseBool(text);
      attr_.integer = value.value_or(false);
      return value.has_value();
    }
    case PK_ATTR_FLOAT:
    case PK_ATTR_DOUBLE: {
      const std::optional<double> value = attr_.type == PK_ATTR_FLOAT ? ParseFloat(text) : ParseReal(text);
      attr_.real = value.value_or(0);
      return value.has_value();
    }
    case PK_ATTR_STRING: text_ = text; return true;
    case PK_ATTR_DTYPE: {
      const std::optional<int32_t> value = ParseDtype(text);
      attr_.integer = value.value_or(PK_INVALID_DTYPE);
      return value.has_value();
    }
    default: return ReadList(text);
  }
}

bool AttributeValue::ReadList(const std::string& text) {
  const std::optional<std::vector<std::string>> items = ParseItems(text);
  if (!items) return false;
  attr_.count = static_cast<int32_t>(items->size());
  return std::all_of(items->begin(), items->end(), [this](const std::string& item) { return ReadItem(item); });
}

bool AttributeValue::ReadItem(const std::string& item) {
  switch (attr_.type) {
    case PK_ATTR_SHAPE:
    case PK_ATTR_LIST_INT64: return Append(ParseInteger(item), &integers_);
    case PK_ATTR_LIST_INT32: return Append(ParseInteger(item), &integers_) && FitsInt32(integers_.back());
    case PK_ATTR_LIST_FLOAT: return Append(ParseFloat(item), &reals_);
    case PK_ATTR_LIST_STRING: return Append(ParseQuoted(item), &strings_);
    case PK_ATTR_LIST_DTYPE: {
      const std::optional<int32_t> dtype = ParseDtype(item);
      if (dtype) integers_.push_back(*dtype);
      return dtype.has_value();
    }
    case PK_ATTR_LIST_SHAPE: {
      const std::unique_ptr<AttributeValue> shape = Parse(name_, PK_ATTR_SHAPE, item);
      if (!shape) return false;
      integers_.push_back(shape->attr_.count);
      integers_.insert(integers_.end(), shape->integers_.begin(), shape->integers_.end());
      return true;
    }
    default: return false;
  }
}

void AttributeValue::Seal() {
  texts_.clear();
  for (const std::string& string : strings_) texts_.push_back(string.c_str());
  attr_.name = name_.c_str();
  attr_.text = text_.c_str();
  attr_.integers = integers_.data();
  attr_.reals = reals_.data();
  attr_.texts = texts_.data();
}

bool SameValue(const pk_attr& a, const pk_attr& b) {
  if (a.type != b.type || a.count != b.count) return false;
  switch (a.type) {
    case PK_ATTR_INT32:
    case PK_ATTR_INT64:
    case PK_ATTR_BOOL:
    case PK_ATTR_DTYPE: return a.integer == b.integer;
    case PK_ATTR_FLOAT:
    case PK_ATTR_DOUBLE: return SameBits(&a.real, &b.real, 1);
    case PK_ATTR_STRING: return std::string(a.text) == b.text;
    case PK_ATTR_LIST_FLOAT: return SameBits(a.reals, b.reals, a.count);
    case PK_ATTR_LIST_STRING:
      return std::equal(a.texts, a.texts + a.count, b.texts,
                        [](const char* x, const char* y) { return std::string(x) == y; });
    default: {
      const size_t count = CountIntegers(a);
      return count == CountIntegers(b) && std::equal(a.integers, a.integers + count, b.integers);
    }
  }
}

}  // namespace pykernels
