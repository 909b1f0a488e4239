// Reads the attributes of a node from ONNX Runtime, including nodes of PopART's C++.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "declarations/onnxruntime.h"

namespace pykernels::onnxruntime {

using NodeAttribute = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>>;

class NodeAttributes {
 public:
  NodeAttributes(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  // Returns nullopt if the node has no attribute of this name.
  std::optional<NodeAttribute> Read(const char* name) const {
    int64_t integer;
    if (Holds(api_.KernelInfoGetAttribute_int64(info_, name, &integer))) return integer;
    float real;
    if (Holds(api_.KernelInfoGetAttribute_float(info_, name, &real))) return real;
    if (const auto text = ReadArray<char>(api_.KernelInfoGetAttribute_string, name)) return std::string(text->data());
    const auto integers = ReadArray<int64_t>(api_.KernelInfoGetAttributeArray_int64, name);
    const auto reals = ReadArray<float>(api_.KernelInfoGetAttributeArray_float, name);
    // Some versions return an empty list for an attribute of the other type.
    if (reals && !reals->empty()) return *reals;
    if (integers) return *integers;
    if (reals) return *reals;
    return std::nullopt;
  }

 private:
  bool Holds(OrtStatus* status) const {
    if (!status) return true;
    api_.ReleaseStatus(status);
    return false;
  }

  template <typename T, typename Get>
  std::optional<std::vector<T>> ReadArray(Get get, const char* name) const {
    size_t size = 0;
    if (!Holds(get(info_, name, nullptr, &size))) return std::nullopt;
    std::vector<T> values(size);
    // An empty list needs no second call; a null pointer would only request its size again.
    if (size > 0 && !Holds(get(info_, name, values.data(), &size))) return std::nullopt;
    return values;
  }

  const OrtApi& api_;
  const OrtKernelInfo* info_;
};

}  // namespace pykernels::onnxruntime
