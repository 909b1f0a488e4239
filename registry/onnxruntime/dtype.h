// The numbers that ONNX has for element types (TensorProto.DataType).
#ifndef PYKERNELS_REGISTRY_ONNXRUNTIME_DTYPE_H_
#define PYKERNELS_REGISTRY_ONNXRUNTIME_DTYPE_H_

#include <cstdint>

namespace pykernels::onnxruntime {

// PK_INVALID_DTYPE for 0 and for types that no op knows, and the other way round.
int32_t DtypeFromOnnx(int64_t type);
int DtypeToOnnx(int32_t dtype);

}  // namespace pykernels::onnxruntime

#endif  // PYKERNELS_REGISTRY_ONNXRUNTIME_DTYPE_H_
