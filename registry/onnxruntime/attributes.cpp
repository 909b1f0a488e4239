#include "attributes.h"

#include <charconv>
#include <optional>
#include <vector>

#include "../host/dtype.h"
#include "../host/error.h"
#include "dtype.h"

namespace pykernels::onnxruntime {
namespace {

std::string Text(int64_t value) { return std::to_string(value); }

// The shortest decimal that is this float, so that 0.1 stays 0.1.
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

std::string DtypeText(int64_t type) {
  const int32_t dtype = DtypeFromOnnx(type);
  return dtype == PK_INVALID_DTYPE ? Join("ONNX's type ", type) : DtypeName(dtype);
}

class Reader {
 public:
  Reader(const OrtApi& api, const OrtKernelInfo* info) : api_(api), info_(info) {}

  // The value as a text, or nothing if the node has no such attribute.
  std::optional<std::string> Read(const char* name, int32_t type) const {
    const bool is_dtype = type == PK_ATTR_DTYPE || type == PK_ATTR_LIST_DTYPE;
    int64_t integer;
    float real;
    if (Holds(api_.KernelInfoGetAttribute_int64(info_, name, &integer))) {
      return is_dtype ? DtypeText(integer) : Text(integer);
    }
    if (Holds(api_.KernelInfoGetAttribute_float(info_, name, &real))) return Text(real);
    const auto string = ReadArray<char>(api_.KernelInfoGetAttribute_string, name);
    if (string) return std::string(string->data());
    const auto integers = ReadArray<int64_t>(api_.KernelInfoGetAttributeArray_int64, name);
    const auto reals = ReadArray<float>(api_.KernelInfoGetAttributeArray_float, name);
    // Some versions have an empty list where the attribute is one of the other type.
    if (reals && !reals->empty()) return Text(*reals);
    if (integers && is_dtype) {
      std::string text = "[";
      for (int64_t each : *integers) text += (text.size() > 1 ? ", '" : "'") + DtypeText(each) + "'";
      return text + "]";
    }
    if (integers) return Text(*integers);
    if (reals) return Text(*reals);
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
    // A list without items has been read already; a null pointer would only ask for its size again.
    if (size > 0 && !Holds(get(info_, name, values.data(), &size))) return std::nullopt;
    return values;
  }

  const OrtApi& api_;
  const OrtKernelInfo* info_;
};

}  // namespace

Attributes ReadAttributes(const pk_op& op, const std::string& label, const OrtApi& api, const OrtKernelInfo* info) {
  const Reader reader(api, info);
  Attributes::Strings given;
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    const pk_attr& initial = op.attributes[i].initial;
    const std::optional<std::string> text = reader.Read(initial.name, initial.type);
    if (text) given.emplace_back(initial.name, *text);
  }
  return Attributes::Parse(op, label, given);
}

}  // namespace pykernels::onnxruntime
