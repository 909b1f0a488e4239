// Implements the types and shapes of popart/tensorinfo.hpp, and the names of ops.
#include <popart/operatoridentifier.hpp>
#include <popart/tensorinfo.hpp>

#include <ostream>

#include "dtype.h"
#include "view.h"

namespace popart {
namespace {

std::string Text(const Shape& shape) {
  std::string text;
  for (int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

std::string Before(const std::string& name) { return name.empty() ? "" : name + ": "; }

}  // namespace

TensorInfo::TensorInfo(const std::string& type, const Shape& shape) : TensorInfo(dataTypeFromString(type), shape) {}

void TensorInfo::set(DataType type) {
  type_ = type;
  is_set_ = true;
}

DataType TensorInfo::dataType() const {
  if (!is_set_) throw error("the type of a tensor is read before it is set");
  return type_;
}

const std::string& TensorInfo::data_type() const { return popart_cpu::Name(dataType()); }

const std::string& TensorInfo::data_type_lcase() const { return popart_cpu::NumpyName(dataType()); }

int64_t TensorInfo::dim(int i) const {
  if (i < 0 || i >= rank()) throw error("dimension {} does not exist in a tensor of shape {}", i, Text(shape_));
  return shape_[static_cast<std::size_t>(i)];
}

int64_t TensorInfo::nelms() const {
  int64_t count = 1;
  for (int64_t size : shape_) count *= size;
  return count;
}

int64_t TensorInfo::nbytes() const {
  return nelms() * static_cast<int64_t>(popart_cpu::DeviceType(dataType()).size());
}

void TensorInfo::append(std::ostream& stream) const { stream << popart_cpu::NumpyName(type_) << ' ' << Text(shape_); }

std::ostream& operator<<(std::ostream& stream, const TensorInfo& info) {
  info.append(stream);
  return stream;
}

std::ostream& operator<<(std::ostream& stream, DataType type) { return stream << popart_cpu::Name(type); }

DataType dataTypeFromString(const std::string& name) {
  for (int i = 0; i < static_cast<int>(DataType::UNDEFINED); ++i) {
    if (popart_cpu::Name(static_cast<DataType>(i)) == name) return static_cast<DataType>(i);
  }
  throw error("data type '{}' does not exist", name);
}

Shape npOut(const Shape& a, const Shape& b, const std::string& debugName) {
  Shape out = a;
  if (!popart_cpu::Broadcast(&out, b)) {
    throw error("{}shapes {} and {} cannot be broadcast to one shape", Before(debugName), Text(a), Text(b));
  }
  return out;
}

TensorInfo npOut(const TensorInfo& a, const TensorInfo& b, bool checkDataType, const std::string& debugName) {
  if (checkDataType && a.dataType() != b.dataType()) {
    throw error("{}the inputs are {} and {}, which have to be of one type", Before(debugName), a, b);
  }
  return TensorInfo(a.dataType(), npOut(a.shape(), b.shape(), debugName));
}

bool npBroadcastable(const Shape& a, const Shape& b) {
  Shape out = a;
  return popart_cpu::Broadcast(&out, b);
}

std::ostream& operator<<(std::ostream& stream, const OperatorIdentifier& id) {
  return stream << id.domain << '.' << id.type << ':' << id.version;
}

}  // namespace popart
