/* oneflow::DataType and queries about it. */
#pragma once

#include <ostream>

#include "oneflow/core/common/util.h"

namespace oneflow {

/* In the order of OneFlow's numbers, from 0. */
enum DataType : int {
  kInvalidDataType, kChar, kFloat, kDouble, kInt8, kInt32, kInt64, kUInt8,
  kOFRecord, kFloat16, kTensorBuffer, kBFloat16, kBool, kUInt16, kUInt32, kUInt64,
  kUInt128, kInt16, kInt128, kComplex32, kComplex64, kComplex128
};

enum DeviceType : int { kInvalidDevice = 0, kCPU = 1, kGPU = 2, kCUDA = 2 };

/* The data type's NumPy name, if it has one. */
inline const char* DataTypeName(DataType type) {
  static const char* const kNames[] = {
      "unknown",  "char",    "float32",      "float64",   "int8",      "int32",     "int64",  "uint8",
      "OFRecord", "float16", "TensorBuffer", "bfloat16",  "bool",      "uint16",    "uint32", "uint64",
      "uint128",  "int16",   "int128",       "complex32", "complex64", "complex128"};
  const size_t index = static_cast<size_t>(type);
  return index < sizeof(kNames) / sizeof(kNames[0]) ? kNames[index] : "unknown";
}
inline std::string DataType_Name(DataType type) { return DataTypeName(type); }
inline std::ostream& operator<<(std::ostream& out, DataType type) { return out << DataTypeName(type); }

inline bool IsBoolDataType(DataType type) { return type == kBool; }
inline bool IsFloatingDataType(DataType type) {
  return type == kFloat || type == kDouble || type == kFloat16 || type == kBFloat16;
}
inline bool IsComplexDataType(DataType type) { return type == kComplex32 || type == kComplex64 || type == kComplex128; }
inline bool IsUnsignedIntegralDataType(DataType type) {
  return type == kUInt8 || type == kUInt16 || type == kUInt32 || type == kUInt64 || type == kUInt128;
}
inline bool IsIntegralDataType(DataType type) {
  return type == kInt8 || type == kInt16 || type == kInt32 || type == kInt64 || type == kInt128
         || IsUnsignedIntegralDataType(type);
}
inline bool IsIndexDataType(DataType type) { return type == kInt32 || type == kInt64; }

inline size_t GetSizeOfDataType(DataType type) {
  static const size_t kSizes[] = {0, 1, 4, 8, 1, 4, 8, 1, 0, 2, 0, 2, 1, 2, 4, 8, 16, 2, 16, 4, 8, 16};
  const size_t index = static_cast<size_t>(type);
  if (index < sizeof(kSizes) / sizeof(kSizes[0]) && kSizes[index] != 0) { return kSizes[index]; }
  UNIMPLEMENTED() << "the size of data type " << type;
}

template<typename T>
struct GetDataType;
#define PK_DATA_TYPE(T, number) \
  template<>                    \
  struct GetDataType<T> : std::integral_constant<DataType, number> {};
PK_DATA_TYPE(void, kChar)
PK_DATA_TYPE(char, kChar)
PK_DATA_TYPE(bool, kBool)
PK_DATA_TYPE(float, kFloat)
PK_DATA_TYPE(double, kDouble)
PK_DATA_TYPE(int8_t, kInt8)
PK_DATA_TYPE(int16_t, kInt16)
PK_DATA_TYPE(int32_t, kInt32)
PK_DATA_TYPE(int64_t, kInt64)
PK_DATA_TYPE(uint8_t, kUInt8)
PK_DATA_TYPE(uint16_t, kUInt16)
PK_DATA_TYPE(uint32_t, kUInt32)
PK_DATA_TYPE(uint64_t, kUInt64)
#undef PK_DATA_TYPE

}  // namespace oneflow
