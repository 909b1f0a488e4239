// The attributes of one instance of an op: typed, complete, and in the order of the definition.
#pragma once

#include <pykernels/definition.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pykernels {

// Owns one attribute value and everything that its pk_attr points to.
class AttributeValue {
 public:
  explicit AttributeValue(const pk_attr& source);

  // Parses `text` as a value of `type`; returns null if it is not one.
  static std::unique_ptr<AttributeValue> Parse(const std::string& name, int32_t type, const std::string& text);

  AttributeValue(const AttributeValue&) = delete;
  AttributeValue& operator=(const AttributeValue&) = delete;

  const pk_attr& get() const { return attr_; }

 private:
  AttributeValue(const std::string& name, int32_t type);

  bool Read(const std::string& text);
  bool ReadList(const std::string& text);
  bool ReadItem(const std::string& item);
  // Points attr_ at the members below once they are final.
  void Seal();

  pk_attr attr_{};
  std::string name_;
  std::string text_;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::string> strings_;
  std::vector<const char*> texts_;
};

class Attributes {
 public:
  using Strings = std::vector<std::pair<std::string, std::string>>;

  // Parses the attributes of `op` from names and texts, and fills in its defaults for those not given. `label` names
  // the op in errors: an unknown name, a missing attribute, an invalid text.
  static Attributes Parse(const pk_op& op, const std::string& label, const Strings& given);

  // Does the same with typed values.
  static Attributes Fill(const pk_op& op, const std::string& label, const std::vector<pk_attr>& given);

  const std::vector<pk_attr>& values() const { return values_; }

 private:
  using Owned = std::vector<std::shared_ptr<const AttributeValue>>;

  // Completes `given`, which has a place for every attribute of `op`; the place is empty if the attribute is not given.
  static Attributes Complete(const pk_op& op, const std::string& label, Owned given);

  Owned owned_;
  std::vector<pk_attr> values_;
};

bool SameValue(const pk_attr& a, const pk_attr& b);

}  // namespace pykernels
