// The attributes of one instance of an op: typed, complete, in the order of the definition.
#ifndef PYKERNELS_REGISTRY_HOST_ATTRIBUTES_H_
#define PYKERNELS_REGISTRY_HOST_ATTRIBUTES_H_

#include <pykernels/definition.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pykernels {

// One value with everything that its pk_attr points to.
class AttributeValue {
 public:
  explicit AttributeValue(const pk_attr& source);

  // The value that `text` stands for, as `type`; null if it stands for none.
  static std::unique_ptr<AttributeValue> Parse(const std::string& name, int32_t type, const std::string& text);

  AttributeValue(const AttributeValue&) = delete;
  AttributeValue& operator=(const AttributeValue&) = delete;

  const pk_attr& get() const { return attr_; }

 private:
  AttributeValue(const std::string& name, int32_t type);

  bool Read(const std::string& text);
  bool ReadList(const std::string& text);
  bool ReadItem(const std::string& item);
  // Points attr_ at the members below, once they are final.
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

  // The attributes of `op` out of names and texts, with its defaults for those not given. `label` names the op in
  // errors: an unknown name, a missing attribute, a text that is no such value.
  static Attributes Parse(const pk_op& op, const std::string& label, const Strings& given);

  // The same out of typed values.
  static Attributes Fill(const pk_op& op, const std::string& label, const std::vector<pk_attr>& given);

  const std::vector<pk_attr>& values() const { return values_; }

 private:
  using Owned = std::vector<std::unique_ptr<const AttributeValue>>;

  // `given` has a place for every attribute of `op`, empty for those not given.
  static Attributes Complete(const pk_op& op, const std::string& label, Owned given);

  Owned owned_;
  std::vector<pk_attr> values_;
};

bool SameValue(const pk_attr& a, const pk_attr& b);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_ATTRIBUTES_H_
