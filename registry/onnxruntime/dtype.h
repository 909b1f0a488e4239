// ONNX's numbers for element types (TensorProto.DataType).
#pragma once

#include <pykernels/definition.h>

#include <cstdint>
#include <iterator>

namespace pykernels::onnxruntime {

// Indexed by ONNX's number.
inline constexpr int32_t kDtypes[] = {
    PK_INVALID_DTYPE, PK_FLOAT32, PK_UINT8,   PK_INT8,   PK_UINT16, PK_INT16,     PK_INT32,      PK_INT64,
    PK_INVALID_DTYPE,  // text
    PK_BOOL,          PK_FLOAT16, PK_FLOAT64, PK_UINT32, PK_UINT64, PK_COMPLEX64, PK_COMPLEX128, PK_BFLOAT16};

// Convert ONNX's number to a pk_dtype and back; PK_INVALID_DTYPE corresponds to 0 and to types that no op supports.
inline int32_t DtypeFromOnnx(int64_t type) {
  return type >= 0 && type < static_cast<int64_t>(std::size(kDtypes)) ? kDtypes[type] : PK_INVALID_DTYPE;
}

inline int DtypeToOnnx(int32_t dtype) {
  for (size_t type = 1; type < std::size(kDtypes); ++type) {
    if (kDtypes[type] == dtype && dtype != PK_INVALID_DTYPE) return static_cast<int>(type);
  }
  return 0;
}

}  // namespace pykernels::onnxruntime
