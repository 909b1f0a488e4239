// The element type and shape of a tensor.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include <popart/datatype.hpp>
#include <popart/error.hpp>
#include <popart/names.hpp>

namespace popart {

class TensorInfo {
 public:
  TensorInfo() {}
  TensorInfo(DataType type, const Shape& shape) : type_(type), shape_(shape), is_set_(true) {}
  TensorInfo(const std::string& type, const Shape& shape);

  void set(DataType type);
  void set(DataType type, const Shape& shape) { *this = TensorInfo(type, shape); }
  bool isSet() const { return is_set_; }

  DataType dataType() const;
  const std::string& data_type() const;  // such as FLOAT
  const std::string& data_type_lcase() const;  // such as float32
  const Shape& shape() const { return shape_; }
  std::vector<std::size_t> shape_szt() const { return std::vector<std::size_t>(shape_.begin(), shape_.end()); }
  Rank rank() const { return static_cast<Rank>(shape_.size()); }
  int64_t dim(int i) const;
  int64_t nelms() const;
  int64_t nbytes() const;

  void append(std::ostream& stream) const;
  bool operator==(const TensorInfo& other) const { return type_ == other.type_ && shape_ == other.shape_; }
  bool operator!=(const TensorInfo& other) const { return !(*this == other); }

 private:
  DataType type_ = DataType::UNDEFINED;
  Shape shape_;
  bool is_set_ = false;
};

std::ostream& operator<<(std::ostream& stream, const TensorInfo& info);
std::ostream& operator<<(std::ostream& stream, DataType type);

DataType dataTypeFromString(const std::string& name);

// Return the shape, or the type and shape, of NumPy's broadcasting.
Shape npOut(const Shape& a, const Shape& b, const std::string& debugName = "");
TensorInfo npOut(const TensorInfo& a, const TensorInfo& b, bool checkDataType, const std::string& debugName = "");
bool npBroadcastable(const Shape& a, const Shape& b);

}  // namespace popart
