// ONNX's numbers for element types (TensorProto.DataType).
#pragma once

#include <cstdint>

namespace pykernels::onnxruntime {

// Convert ONNX's number to a pk_dtype and back; PK_INVALID_DTYPE corresponds to 0 and to types that no op supports.
int32_t DtypeFromOnnx(int64_t type);
int DtypeToOnnx(int32_t dtype);

}  // namespace pykernels::onnxruntime
