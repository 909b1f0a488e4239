/* user_op::TensorDesc: the shape and data type of one tensor. */
#pragma once

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/shape.h"

namespace pykernels {

/* Part of every message about a shape or a number of tensors that is used before it is known. Readers search for it. */
inline const char* const kNotKnownYet = "is not known yet";

}  // namespace pykernels

namespace oneflow {
namespace user_op {

class TensorDesc {
 public:
  TensorDesc() = default;
  /* `label` names the tensor in messages. An output has no shape at first. */
  TensorDesc(std::string label, Shape shape, DataType data_type, bool is_dynamic)
      : label_(std::move(label)), shape_(std::move(shape)), data_type_(data_type), is_dynamic_(is_dynamic) {}
  TensorDesc(const TensorDesc&) = default;

  /* Copies the description of the tensor, but not its identity (label). */
  TensorDesc& operator=(const TensorDesc& other) {
    shape_ = other.shape_;
    data_type_ = other.data_type_;
    is_dynamic_ = other.is_dynamic_;
    return *this;
  }
  bool operator==(const TensorDesc& other) const {
    return shape_ == other.shape_ && data_type_ == other.data_type_ && is_dynamic_ == other.is_dynamic_;
  }
  bool operator!=(const TensorDesc& other) const { return !(*this == other); }

  const Shape& shape(pykernels::Where where = pykernels::Where::Here()) const {
    if (!shape_.is_initialized()) { throw pykernels::Failure(where, WhyUnknown()); }
    return shape_;
  }
  Shape* mut_shape() { return &shape_; }
  void set_shape(const Shape& shape) { shape_ = shape; }
  bool has_shape() const { return shape_.is_initialized(); }

  DataType data_type() const { return data_type_; }
  DataType* mut_data_type() { return &data_type_; }
  void set_data_type(DataType data_type) { data_type_ = data_type; }

  bool is_dynamic() const { return is_dynamic_; }
  bool* mut_is_dynamic() { return &is_dynamic_; }
  void set_is_dynamic(bool is_dynamic) { is_dynamic_ = is_dynamic; }

  /* Tensors are contiguous here: strides can be set and read, but are not used. */
  const Stride& stride(pykernels::Where where = pykernels::Where::Here()) const {
    stride_.assign(shape(where).size(), 1);
    for (size_t axis = stride_.size(); axis-- > 1;) { stride_[axis - 1] = stride_[axis] * shape_[axis]; }
    return stride_;
  }
  Stride* mut_stride() { return &stride_; }
  void set_stride(const Stride& stride) { stride_ = stride; }

  const std::string& label() const { return label_; }

  /* The reason why the shape cannot be read. */
  void ForgetShape() {
    shape_ = Shape::Unset();
    forgotten_ = true;
  }

 private:
  std::string WhyUnknown() const {
    return "the shape of " + label_ + " " + (forgotten_ ? pykernels::kNotKnownYet : "is read before it is set");
  }

  std::string label_;
  Shape shape_;
  DataType data_type_ = kInvalidDataType;
  bool is_dynamic_ = false;
  bool forgotten_ = false;
  mutable Stride stride_;
};

}  // namespace user_op
}  // namespace oneflow
