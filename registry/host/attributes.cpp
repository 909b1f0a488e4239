#include "attributes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "error.h"
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

// Describes the text expected for a value of `type`.
const char* Expected(int32_t type) {
  switch (type) {
    case PK_ATTR_INT32: return "a 32-bit integer such as 3";
    case PK_ATTR_INT64: return "a 64-bit integer such as 3";
    case PK_ATTR_BOOL: return "True or False";
    case PK_ATTR_FLOAT: return "a number in the range of float32 such as 0.1";
    case PK_ATTR_DOUBLE: return "a number such as 0.1";
    case PK_ATTR_STRING: return "a string";
    case PK_ATTR_SHAPE: return "a tuple of integers such as (2, 3)";
    case PK_ATTR_DTYPE: return "the name of a dtype such as float32";
    case PK_ATTR_LIST_INT32: return "a list of 32-bit integers such as [1, 2]";
    case PK_ATTR_LIST_INT64: return "a list of 64-bit integers such as [1, 2]";
    case PK_ATTR_LIST_FLOAT: return "a list of numbers in the range of float32 such as [0.1, 0.2]";
    case PK_ATTR_LIST_DTYPE: return "a list of names of dtypes such as ['float32', 'int8']";
    case PK_ATTR_LIST_SHAPE: return "a list of tuples of integers such as [(2, 3), (4,)]";
    case PK_ATTR_LIST_STRING: return "a list of strings such as ['a', 'b']";
    default: return "a value of a type that this version of pykernels does not know";
  }
}

// Returns the number of single-character edits that turn `a` into `b`.
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

[[noreturn]] void FailUnknown(const pk_op& op, const std::string& label, const std::string& name) {
  std::string listed;
  std::string nearest;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1;
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    const std::string known = op.attributes[i].initial.name;
    listed += (listed.empty() ? "" : ", ") + known;
    const size_t distance = EditDistance(name, known);
    if (distance < least) {
      least = distance;
      nearest = known;
    }
  }
  if (listed.empty()) Fail(kCallError, "op '", label, "' has no attribute '", name, "'; it has none at all");
  if (nearest.empty()) Fail(kCallError, "op '", label, "' has no attribute '", name, "'; its attributes are ", listed);
  Fail(kCallError, "op '", label, "' has no attribute '", name, "'; did you mean '", nearest, "'? Its attributes are ",
       listed);
}

// Returns the position of the attribute `name` in the definition of `op`.
size_t FindAttribute(const pk_op& op, const std::string& label, const std::string& name) {
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    if (name == op.attributes[i].initial.name) return i;
  }
  FailUnknown(op, label, name);
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

Attributes Attributes::Parse(const pk_op& op, const std::string& label, const Strings& given) {
  Owned owned(op.n_attributes);
  for (const auto& [name, text] : given) {
    const size_t at = FindAttribute(op, label, name);
    const pk_attr& initial = op.attributes[at].initial;
    owned[at] = AttributeValue::Parse(initial.name, initial.type, text);
    if (!owned[at]) {
      Fail(kCallError, "op '", label, "': attribute '", name, "' must be ", Expected(initial.type), ", got '", text,
           "'");
    }
  }
  return Complete(op, label, std::move(owned));
}

Attributes Attributes::Fill(const pk_op& op, const std::string& label, const std::vector<pk_attr>& given) {
  Owned owned(op.n_attributes);
  for (const pk_attr& value : given) {
    const size_t at = FindAttribute(op, label, value.name);
    const pk_attr& initial = op.attributes[at].initial;
    if (value.type != initial.type) {
      Fail(kCallError, "op '", label, "': attribute '", value.name, "' must be ", Expected(initial.type), ", got ",
           Expected(value.type));
    }
    owned[at] = std::make_unique<AttributeValue>(value);
  }
  return Complete(op, label, std::move(owned));
}

Attributes Attributes::Complete(const pk_op& op, const std::string& label, Owned owned) {
  Attributes attributes;
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    const pk_attribute& declared = op.attributes[i];
    if (!owned[i]) {
      if (!declared.has_default) {
        Fail(kCallError, "op '", label, "' needs its attribute '", declared.initial.name, "', ",
             Expected(declared.initial.type));
      }
      owned[i] = std::make_unique<AttributeValue>(declared.initial);
    }
    attributes.values_.push_back(owned[i]->get());
  }
  attributes.owned_ = std::move(owned);
  return attributes;
}

}  // namespace pykernels
