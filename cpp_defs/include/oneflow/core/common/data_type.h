/* oneflow::DataType and queries about it. */
#pragma once

#include "pykernels/definition/check.h"

namespace oneflow {

/* In the order of OneFlow's numbers, from 0. */
enum DataType : int {
  kInvalidDataType, kChar, kFloat, kDouble, kInt8, kInt32, kInt64, kUInt8,
  kOFRecord, kFloat16, kTensorBuffer, kBFloat16, kBool, kUInt16, kUInt32, kUInt64,
  kUInt128, kInt16, kInt128, kComplex32, kComplex64, kComplex128
};

enum DeviceType : int { kInvalidDevice = 0, kCPU = 1, kGPU = 2, kCUDA = 2 };

/* The data type's NumPy name, if it has one. */
const char* DataTypeName(DataType type);
std::string DataType_Name(DataType type);
template<typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, DataType type) {
  return out << DataTypeName(type);
}
inline void Append(std::string* to, DataType type) { *to += DataTypeName(type); }

bool IsBoolDataType(DataType type);
bool IsFloatingDataType(DataType type);
bool IsComplexDataType(DataType type);
bool IsUnsignedIntegralDataType(DataType type);
bool IsIntegralDataType(DataType type);
/* The type of the parts of complex numbers, and of complex numbers with such parts; kInvalidDataType if there is none.
 * That of the parts of a floating-point type is the type itself. */
DataType RealDataType(DataType type);
DataType ComplexDataType(DataType type);
bool IsIndexDataType(DataType type);

/* The size of an element in bytes. */
size_t GetSizeOfDataType(DataType type);

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
