// Where the attributes of a node come from.
#ifndef PYKERNELS_REGISTRY_POPART_ATTRIBUTES_H_
#define PYKERNELS_REGISTRY_POPART_ATTRIBUTES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace popart_cpu {

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>>;

struct AttributeSource {
  virtual ~AttributeSource() = default;
  // Nothing if the node has none of this name.
  virtual std::optional<AttributeValue> Read(const std::string& name) const = 0;
};

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_ATTRIBUTES_H_
