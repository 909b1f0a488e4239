/* user_op::TensorDesc: the shape and data type of one tensor. */
#pragma once

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/shape.h"

namespace oneflow {
namespace user_op {

class TensorDesc {
 public:
  TensorDesc();
  /* `label` names the tensor in messages. An output has no shape at first. */
  TensorDesc(const std::string& label, const Shape& shape, DataType data_type, bool is_dynamic);
  TensorDesc(const TensorDesc&);
  ~TensorDesc();

  /* Copies the description of the tensor, but not its identity (label). */
  TensorDesc& operator=(const TensorDesc& other);
  bool operator==(const TensorDesc& other) const;
  bool operator!=(const TensorDesc& other) const { return !(*this == other); }

  const Shape& shape(pykernels::Where where = pykernels::Where::Here()) const;
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
  const Stride& stride(pykernels::Where where = pykernels::Where::Here()) const;
  Stride* mut_stride() { return &stride_; }
  void set_stride(const Stride& stride);

  const std::string& label() const { return label_; }

  /* The reason why the shape cannot be read. */
  void ForgetShape();

 private:
  std::string label_;
  Shape shape_;
  DataType data_type_ = kInvalidDataType;
  bool is_dynamic_ = false;
  bool forgotten_ = false;
  mutable Stride stride_;
};

}  // namespace user_op
}  // namespace oneflow
