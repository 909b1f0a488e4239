#include "values.h"

#include <algorithm>
#include <string>

#include "../host/error.h"
#include "../host/tensors.h"

namespace pykernels::onnxruntime {
namespace {

void RequireAxes(size_t ndim) {
  if (ndim > PK_MAX_NDIM) Fail(kCallError, "a tensor has ", ndim, " axes; ops take at most ", PK_MAX_NDIM);
}

}  // namespace

void Check(const OrtApi& api, OrtStatus* status) {
  if (!status) return;
  const std::string text = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  throw Error(kPykernelsError, text);
}

Inputs::Inputs(const OrtApi& api, const OrtKernelContext* context, size_t n_slots) {
  const bool has_references = the_ort_version >= kOrtVersionWithShapeReference;
  Check(api, api.KernelContext_GetInputCount(context, &size_));
  size_ = std::min(size_, n_slots);
  for (size_t i = 0; i < size_; ++i) {
    Input& input = inputs_[i];
    const OrtValue* value = nullptr;
    Check(api, api.KernelContext_GetInput(context, i, &value));
    if (!value) {
      input = {};
      continue;
    }
    if (has_references) {
      Check(api, api.GetTensorElementTypeAndShapeDataReference(value, &input.type, &input.dims, &input.ndim));
      RequireAxes(input.ndim);
    } else {
      OrtTensorTypeAndShapeInfo* info;
      Check(api, api.GetTensorTypeAndShape(value, &info));
      // These calls cannot fail.
      api.GetTensorElementType(info, &input.type);
      api.GetDimensionsCount(info, &input.ndim);
      api.GetDimensions(info, dims_[i], std::min<size_t>(input.ndim, PK_MAX_NDIM));
      api.ReleaseTensorTypeAndShapeInfo(info);
      RequireAxes(input.ndim);
      input.dims = dims_[i];
    }
    Check(api, api.GetTensorMutableData(const_cast<OrtValue*>(value), &input.data));
    if (!input.data) input.data = nowhere;
  }
}

ShapeCheck::ShapeCheck(size_t slot, const Inputs::Input& input, size_t item_size) : slot_(slot), bytes_(item_size) {
  for (size_t axis = 0; axis < input.ndim; ++axis) {
    last_.push_back(input.dims[axis] - 1);
    bytes_ *= input.dims[axis];
  }
  to_last_ = bytes_ - item_size;
}

void* ShapeCheck::Find(const OrtApi& api, const OrtKernelContext* context) const {
  const OrtValue* value = nullptr;
  size_t bytes = 0;
  void* last = nullptr;
  OrtStatus* status = api.KernelContext_GetInput(context, slot_, &value);
  if (!status && !value) return nullptr;
  if (!status) status = api.GetTensorSizeInBytes(value, &bytes);
  if (!status && bytes != bytes_) return nullptr;
  if (!status) status = api.TensorAt(const_cast<OrtValue*>(value), last_.data(), last_.size(), &last);
  if (!status) return static_cast<char*>(last) - to_last_;
  api.ReleaseStatus(status);
  return nullptr;
}

}  // namespace pykernels::onnxruntime
