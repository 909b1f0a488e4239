// The input tensors of a node.
#pragma once

#include <pykernels/definition.h>

#include "declarations/onnxruntime.h"
#include "node_type.h"

namespace pykernels::onnxruntime {

// Throws the message of a status, unless it is null.
void Check(const OrtApi& api, OrtStatus* status);

// The minor version of ONNX Runtime 1.x, set by RegisterCustomOps.
inline uint32_t the_ort_version = 0;

// The inputs of a node in their slots, read without allocations of our own, each of which would take as long as a small
// node.
class Inputs {
 public:
  struct Input {
    void* data;  // null if omitted
    int type;    // ONNX's number
    size_t ndim;
    const int64_t* dims;
  };

  Inputs(const OrtApi& api, const OrtKernelContext* context, size_t n_slots);

  size_t size() const { return size_; }
  const Input& operator[](size_t slot) const { return inputs_[slot]; }

 private:
  size_t size_;
  Input inputs_[kMostSlots];
  int64_t dims_[kMostSlots][PK_MAX_NDIM];
};

// Checks whether an input still has its previous type and shape. Before kOrtVersionWithShapeReference, reading a shape
// takes a third of the time of a small node. So this checks that an element exists at the end of the known shape and
// that the size in bytes is the same; then the shape is the same.
class ShapeCheck {
 public:
  // For an input with elements that can have no other dtype.
  ShapeCheck(size_t slot, const Inputs::Input& input, size_t item_size);

  // Returns its data, or null if it has changed.
  void* Find(const OrtApi& api, const OrtKernelContext* context) const;

 private:
  size_t slot_;
  std::vector<int64_t> last_;
  size_t to_last_;  // bytes
  size_t bytes_;
};

}  // namespace pykernels::onnxruntime
