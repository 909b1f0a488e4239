#include "use.h"

#include <climits>
#include <optional>

#include "../host/error.h"
#include "../host/literal.h"

namespace pykernels::mxnet {
namespace {

// Attributes of the graph rather than the op, such as __ctx_group__.
bool IsGraphAttribute(const std::string& name) {
  return name.size() > 4 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0;
}

bool Declares(const pk_op& op, const std::string& name) {
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    if (name == op.attributes[i].initial.name) return true;
  }
  return false;
}

int32_t ParseCount(const std::string& label, const std::string& name, const std::string& text) {
  const std::optional<int64_t> count = ParseInteger(text);
  if (!count || *count < 0 || *count > INT_MAX) {
    Fail("op '", label, "': '", name, "' must be a number of arrays such as 3, got '", text, "'");
  }
  return static_cast<int32_t>(*count);
}

}  // namespace

std::shared_ptr<const Instance> FindUse(const std::string& label, int n, const char** keys, const char** values) {
  static auto* cache = new InstanceCache;  // never destroyed: MXNet's threads may outlive static objects
  const std::shared_ptr<const Op> op = OpTable::Get().Find(label);
  Attributes::Strings attributes;
  // MXNet does not say how many arrays a call has, so calls of ops with optional or repeated ones do.
  int32_t n_inputs = -1;
  int32_t n_outputs = -1;
  for (int i = 0; i < n; ++i) {
    const std::string name = keys[i];
    if (IsGraphAttribute(name)) continue;
    if (name == "num_args" && !Declares(op->declared(), name)) {
      n_inputs = ParseCount(label, name, values[i]);
    } else if (name == "num_outputs" && !Declares(op->declared(), name)) {
      n_outputs = ParseCount(label, name, values[i]);
    } else {
      attributes.emplace_back(name, values[i]);
    }
  }
  return cache->Get(op, label, attributes, n_inputs, n_outputs);
}

}  // namespace pykernels::mxnet
