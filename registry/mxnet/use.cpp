#include "use.h"

#include <climits>
#include <optional>

#include "../host/error.h"
#include "../host/literal.h"

namespace pykernels::mxnet {
namespace {

// Returns whether this is an attribute of the graph rather than the op, such as __ctx_group__.
bool IsGraphAttribute(const std::string& name) {
  return name.size() > 4 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0;
}

bool Declares(const pk_op& op, const std::string& name) {
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    if (name == op.attributes[i].initial.name) return true;
  }
  return false;
}

int32_t ParseCount(const std::string& text) {
  const std::optional<int64_t> count = ParseInteger(text);
  return count && *count >= 0 && *count <= INT_MAX ? static_cast<int32_t>(*count) : -1;
}

// Parses "3" (arrays in total) or "(2, 1)" (arrays per argument).
TensorCount ParseCounts(const std::string& label, const std::string& name, const std::string& text) {
  TensorCount counts;
  counts.in_all = ParseCount(text);
  if (counts.in_all >= 0) return counts;
  const auto items = ParseItems(text);
  bool is_right = items && !items->empty();
  for (size_t i = 0; is_right && i < items->size(); ++i) {
    counts.of_each.push_back(ParseCount((*items)[i]));
    is_right = counts.of_each.back() >= 0;
  }
  if (!is_right) {
    Fail(kCallError, "op '", label, "': '", name,
         "' must be a number of arrays such as 3, or one for each argument such as (2, 1), "
         "got '", text, "'");
  }
  return counts;
}

}  // namespace

std::shared_ptr<const Instance> FindUse(const std::string& label, int n, const char** keys, const char** values) {
  static auto* cache = new InstanceCache;  // never destroyed: MXNet's threads may outlive static objects
  const std::shared_ptr<const Op> op = OpTable::Get().Find(label);
  Attributes::Strings attributes;
  // MXNet does not pass the number of arrays of a call, so calls of ops with optional or repeated arguments state it.
  TensorCount inputs;
  TensorCount outputs;
  for (int i = 0; i < n; ++i) {
    const std::string name = keys[i];
    if (IsGraphAttribute(name)) continue;
    if (name == "num_args" && !Declares(op->declared(), name)) {
      inputs = ParseCounts(label, name, values[i]);
    } else if (name == "num_outputs" && !Declares(op->declared(), name)) {
      outputs = ParseCounts(label, name, values[i]);
    } else {
      attributes.emplace_back(name, values[i]);
    }
  }
  return cache->Get(op, label, attributes, inputs, outputs);
}

}  // namespace pykernels::mxnet
