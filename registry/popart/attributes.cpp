#include <popart/attributes.hpp>

#include "instance.h"

namespace popart {
namespace {

using pykernels::onnxruntime::NodeAttribute;
using Source = std::shared_ptr<const popart_cpu::AttributeSource>;

std::optional<NodeAttribute> Read(const Source& source, const std::string& key) {
  if (!source) return std::nullopt;
  if (!source->node) throw error("attribute '{}' is read after the op has been created", key);
  return source->node->Read(key.c_str());
}

const char* NameOf(const NodeAttribute& value) {
  static const char* const kNames[] = {"an integer", "a float", "a string", "a list of integers", "a list of floats"};
  return kNames[value.index()];
}

bool IsEmptyList(const NodeAttribute& value) {
  const auto* integers = std::get_if<Attributes::Ints>(&value);
  return integers && integers->empty();
}

template <typename T>
bool FindAs(const Source& source, const std::string& key, T* value) {
  const auto found = Read(source, key);
  if (!found) return false;
  if (const T* given = std::get_if<T>(&*found)) {
    *value = *given;
  } else if (std::is_same_v<T, Attributes::Floats> && IsEmptyList(*found)) {
    *value = T();  // an empty list has no type
  } else {
    throw error("attribute '{}' is {}, and not {}", key, NameOf(*found), NameOf(T()));
  }
  return true;
}

}  // namespace

bool Attributes::hasAttribute(const std::string& key) const { return Read(source_, key).has_value(); }

bool Attributes::Find(const std::string& key, Int* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Ints* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Float* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, Floats* value) const { return FindAs(source_, key, value); }
bool Attributes::Find(const std::string& key, String* value) const { return FindAs(source_, key, value); }

bool Attributes::Find(const std::string& key, Strings*) const {
  const auto found = Read(source_, key);
  if (!found) return false;
  if (!IsEmptyList(*found)) throw error("attribute '{}' is {}, and not a list of strings", key, NameOf(*found));
  throw error("attribute '{}' cannot be read: ONNX Runtime has no lists of strings for ops", key);
}

}  // namespace popart
