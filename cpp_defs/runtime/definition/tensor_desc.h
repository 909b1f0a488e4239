/* Bodies of oneflow/core/framework/tensor_desc.h. */
#pragma once

#include "oneflow/core/framework/tensor_desc.h"
#include "op_use.h"

namespace oneflow {
namespace user_op {

TensorDesc::TensorDesc() = default;
TensorDesc::TensorDesc(const std::string& label, const Shape& shape, DataType data_type, bool is_dynamic)
    : label_(label), shape_(shape), data_type_(data_type), is_dynamic_(is_dynamic) {}
TensorDesc::TensorDesc(const TensorDesc&) = default;
TensorDesc::~TensorDesc() = default;

TensorDesc& TensorDesc::operator=(const TensorDesc& other) {
  shape_ = other.shape_;
  data_type_ = other.data_type_;
  is_dynamic_ = other.is_dynamic_;
  return *this;
}
bool TensorDesc::operator==(const TensorDesc& other) const {
  return shape_ == other.shape_ && data_type_ == other.data_type_ && is_dynamic_ == other.is_dynamic_;
}

const Shape& TensorDesc::shape(pykernels::Where where) const {
  if (shape_.is_initialized()) { return shape_; }
  const char* why = forgotten_ ? pykernels::kNotKnownYet : "is read before it is set";
  throw pykernels::Failure(where, pykernels::Joined({"the shape of ", label_, " ", why}));
}

const Stride& TensorDesc::stride(pykernels::Where where) const {
  stride_.assign(shape(where).size(), 1);
  for (size_t axis = stride_.size(); axis-- > 1;) { stride_[axis - 1] = stride_[axis] * shape_[axis]; }
  return stride_;
}
void TensorDesc::set_stride(const Stride& stride) { stride_ = stride; }

void TensorDesc::ForgetShape() {
  shape_ = Shape::Unset();
  forgotten_ = true;
}

}  // namespace user_op
}  // namespace oneflow
