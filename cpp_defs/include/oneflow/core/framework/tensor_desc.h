/* user_op::TensorDesc: shape and data type of one tensor. */
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/shape.h"

namespace pykernels {

/* In the text of every failure that asks for a shape or a number of tensors before it is known. Readers look for it. */
inline const char* const kNotKnownYet = "is not known yet";

}  // namespace pykernels

namespace oneflow {
namespace user_op {

class TensorDesc {
 public:
  TensorDesc() = default;
  /* `label` names the tensor in messages. An output starts without a shape. */
  TensorDesc(std::string label, Shape shape, DataType data_type, bool is_dynamic)
      : label_(std::move(label)), shape_(std::move(shape)), data_type_(data_type), is_dynamic_(is_dynamic) {}
  TensorDesc(const TensorDesc&) = default;

  /* Copies what describes the tensor, not which tensor it is. */
  TensorDesc& operator=(const TensorDesc& other) {
    shape_ = other.shape_;
    data_type_ = other.data_type_;
    is_dynamic_ = other.is_dynamic_;
    is_tensor_list_ = other.is_tensor_list_;
    return *this;
  }
  bool operator==(const TensorDesc& other) const {
    return shape_ == other.shape_ && data_type_ == other.data_type_ && is_dynamic_ == other.is_dynamic_;
  }
  bool operator!=(const TensorDesc& other) const { return !(*this == other); }

  const Shape& shape(pykernels::Where where = pykernels::Where::Here()) const {
    if (!shape_.is_initialized()) { pykernels::Raise() & pykernels::Message(where, WhyUnknown()); }
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

  bool is_tensor_list() const { return is_tensor_list_; }
  bool* mut_is_tensor_list() { return &is_tensor_list_; }
  void set_is_tensor_list(bool is_tensor_list) { is_tensor_list_ = is_tensor_list; }

  /* Tensors are contiguous here; what is set is kept but not used. */
  const Stride& stride(pykernels::Where where = pykernels::Where::Here()) const {
    stride_.assign(shape(where).size(), 1);
    for (size_t axis = stride_.size(); axis-- > 1;) { stride_[axis - 1] = stride_[axis] * shape_[axis]; }
    return stride_;
  }
  Stride* mut_stride() { return &stride_; }
  void set_stride(const Stride& stride) { stride_ = stride; }

  const std::string& label() const { return label_; }

  /* For a tensor that is used before its shape is known. */
  void ForgetShape() {
    shape_ = Shape::Unset();
    forgotten_ = true;
  }

 private:
  std::string WhyUnknown() const {
    return "the shape of " + label_ + " "
           + (forgotten_ ? pykernels::kNotKnownYet : "is read before it is set");
  }

  std::string label_;
  Shape shape_;
  DataType data_type_ = kInvalidDataType;
  bool is_dynamic_ = false;
  bool is_tensor_list_ = false;
  bool forgotten_ = false;
  mutable Stride stride_;
};

using NaiveTensorDesc = TensorDesc;

}  // namespace user_op
}  // namespace oneflow

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_
