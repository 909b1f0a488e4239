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

/* A data type's NumPy name, if it has one, and the size of an element in bytes, 0 if it has none. */
struct DataTypeFacts {
  const char* name;
  size_t size;
};

inline const DataTypeFacts& FactsOf(DataType type) {
  static const DataTypeFacts kFacts[] = {
      {"unknown", 0}, {"char", 1}, {"float32", 4}, {"float64", 8}, {"int8", 1}, {"int32", 4},
      {"int64", 8}, {"uint8", 1}, {"OFRecord", 0}, {"float16", 2}, {"TensorBuffer", 0},
      {"bfloat16", 2}, {"bool", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"uint128", 16},
      {"int16", 2}, {"int128", 16}, {"complex32", 4}, {"complex64", 8}, {"complex128", 16}};
  const size_t index = static_cast<size_t>(type);
  return kFacts[index < sizeof(kFacts) / sizeof(kFacts[0]) ? index : 0];
}

inline const char* DataTypeName(DataType type) { return FactsOf(type).name; }
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
  if (const size_t size = FactsOf(type).size) { return size; }
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
