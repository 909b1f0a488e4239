// The attributes of a node.
#pragma once

#include <memory>

#include <popart/error.hpp>
#include <popart/names.hpp>

namespace popart_cpu {
struct AttributeSource;
}

namespace popart {

class Attributes {
 public:
  using Int = int64_t;
  using Ints = std::vector<int64_t>;
  using Float = float;
  using Floats = std::vector<float>;
  using String = std::string;
  using Strings = std::vector<std::string>;

  Attributes() {}
  explicit Attributes(std::shared_ptr<const popart_cpu::AttributeSource> source) : source_(std::move(source)) {}

  bool hasAttribute(const std::string& key) const;

  // Returns an attribute; `T` is one of the types above. Throws if it has another type, or if it is missing without a
  // default.
  template <typename T>
  T getAttribute(const std::string& key) const {
    T value;
    if (!Find(key, &value)) throw error("attribute '{}' is missing and has no default", key);
    return value;
  }
  template <typename T>
  T getAttribute(const std::string& key, const T& initial) const {
    T value;
    return Find(key, &value) ? value : initial;
  }

  template <typename T>
  void set(T& value, const std::string& key) const {
    value = getAttribute<T>(key);
  }
  template <typename T>
  void setIfPresent(T& value, const std::string& key) const {
    Find(key, &value);
  }
  void setIfPresent(bool& value, const std::string& key) const {
    int64_t number;
    if (Find(key, &number)) value = number != 0;
  }

 private:
  bool Find(const std::string& key, Int* value) const;
  bool Find(const std::string& key, Ints* value) const;
  bool Find(const std::string& key, Float* value) const;
  bool Find(const std::string& key, Floats* value) const;
  bool Find(const std::string& key, String* value) const;
  bool Find(const std::string& key, Strings* value) const;

  std::shared_ptr<const popart_cpu::AttributeSource> source_;
};

}  // namespace popart
