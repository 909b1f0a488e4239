#include "attributes.h"

#include <algorithm>

#include "error.h"

namespace pykernels {
namespace {

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
