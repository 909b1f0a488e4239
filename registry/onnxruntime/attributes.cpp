// Reads the attributes of nodes.
#include <charconv>

#include "../host/dtype.h"
#include "../host/error.h"
#include "dtype.h"
#include "node.h"
#include "node_attributes.h"

namespace pykernels::onnxruntime {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

// Returns the shortest decimal that parses to this float, so that 0.1 stays 0.1.
std::string Text(float value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += (text.size() > 1 ? ", " : "") + Text(value);
  return text + "]";
}

const std::string& Text(const std::string& value) { return value; }

std::string DtypeText(int64_t type) {
  const int32_t dtype = DtypeFromOnnx(type);
  return dtype == PK_INVALID_DTYPE ? Join("ONNX's type ", type) : DtypeName(dtype);
}

std::string Text(const NodeAttribute& value, bool is_dtype) {
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer && is_dtype) return DtypeText(*integer);
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  if (!integers || !is_dtype) return std::visit([](const auto& each) { return std::string(Text(each)); }, value);
  std::string text = "[";
  for (int64_t each : *integers) text += (text.size() > 1 ? ", '" : "'") + DtypeText(each) + "'";
  return text + "]";
}

}  // namespace

Attributes ReadAttributes(const pk_op& op, const std::string& label, const OrtApi& api, const OrtKernelInfo* info) {
  const NodeAttributes attributes(api, info);
  Attributes::Strings given;
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    const pk_attr& initial = op.attributes[i].initial;
    const bool is_dtype = initial.type == PK_ATTR_DTYPE || initial.type == PK_ATTR_LIST_DTYPE;
    const std::optional<NodeAttribute> value = attributes.Read(initial.name);
    if (value) given.emplace_back(initial.name, Text(*value, is_dtype));
  }
  return Attributes::Parse(op, label, given);
}

}  // namespace pykernels::onnxruntime
