// The tensors that a node is given.
#ifndef PYKERNELS_REGISTRY_ONNXRUNTIME_VALUES_H_
#define PYKERNELS_REGISTRY_ONNXRUNTIME_VALUES_H_

#include <pykernels/definition.h>

#include "declarations/onnxruntime.h"
#include "node_type.h"

namespace pykernels::onnxruntime {

// Throws the text of a status, if it is one.
void Check(const OrtApi& api, OrtStatus* status);

// The version of ONNX Runtime 1.x, told by RegisterCustomOps.
void SetOrtVersion(uint32_t minor);
uint32_t OrtVersion();

// The inputs of a node in their slots. Without allocations of ours: small nodes take no longer than this.
class Inputs {
 public:
  struct Input {
    void* data;  // null if it is left out
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

// Tells whether an input still has the type and shape that it had before. Before kOrtVersionWithShapeReference, to ask
// for a shape takes a third of the time of a small node; so it is asked whether there is an element at the end of the
// known shape. If there is, and the size in bytes is the same, then so is the shape.
class ShapeCheck {
 public:
  // Of an input that can have no other dtype, with elements.
  ShapeCheck(size_t slot, const Inputs::Input& input, size_t item_size);

  // Its data, or null if it has changed.
  void* Find(const OrtApi& api, const OrtKernelContext* context) const;

 private:
  size_t slot_;
  std::vector<int64_t> last_;
  size_t to_last_;  // bytes
  size_t bytes_;
};

}  // namespace pykernels::onnxruntime

#endif  // PYKERNELS_REGISTRY_ONNXRUNTIME_VALUES_H_
