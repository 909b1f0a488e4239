#include "attributes.h"

#include <popart/attributes.hpp>

namespace popart {
namespace {

const char* const kNames[] = {"an integer",         "a float",          "a string",
                              "a list of integers", "a list of floats", "a list of strings"};

template <typename T>
bool FindAs(const std::shared_ptr<const popart_cpu::AttributeSource>& source, const std::string& key, T* value) {
  const auto found = source ? source->Read(key) : std::nullopt;
  if (!found) return false;
  if (!std::holds_alternative<T>(*found)) {
    const popart_cpu::AttributeValue wanted = T();
    const auto* integers = std::get_if<std::vector<int64_t>>(&*found);
    if (integers && integers->empty() && std::is_same_v<T, std::vector<float>>) {
      *value = T();  // a list without items is of no type
      return true;
    }
    if (integers && integers->empty() && std::is_same_v<T, std::vector<std::string>>) {
      throw error("attribute '{}' cannot be read: ONNX Runtime has no lists of strings for ops", key);
    }
    throw error("attribute '{}' is {}, and not {}", key, kNames[found->index()], kNames[wanted.index()]);
  }
  *value = std::get<T>(*found);
  return true;
}

}  // namespace

bool Attributes::hasAttribute(const std::string& key) const { return source_ && source_->Read(key); }

bool Attributes::Find(const std::string& key, Int* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Ints* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Float* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Floats* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, String* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Strings* value) const { return FindAs(source_, key, value); }

}  // namespace popart
