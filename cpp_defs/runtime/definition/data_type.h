/* Bodies of oneflow/core/common/data_type.h, and what tensor types ask of data types. */
#pragma once

#include "tensor_type.h"

namespace oneflow {

/* A data type's NumPy name, if it has one, and the size of an element in bytes, 0 if it has none. */
struct DataTypeFacts {
  const char* name;
  size_t size;
};

const DataTypeFacts& FactsOf(DataType type) {
  static const DataTypeFacts kFacts[] = {
      {"unknown", 0}, {"char", 1}, {"float32", 4}, {"float64", 8}, {"int8", 1}, {"int32", 4},
      {"int64", 8}, {"uint8", 1}, {"OFRecord", 0}, {"float16", 2}, {"TensorBuffer", 0},
      {"bfloat16", 2}, {"bool", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"uint128", 16},
      {"int16", 2}, {"int128", 16}, {"complex32", 4}, {"complex64", 8}, {"complex128", 16}};
  const size_t index = static_cast<size_t>(type);
  return kFacts[index < sizeof(kFacts) / sizeof(kFacts[0]) ? index : 0];
}

const char* DataTypeName(DataType type) { return FactsOf(type).name; }
std::string DataType_Name(DataType type) { return DataTypeName(type); }

bool IsBoolDataType(DataType type) { return type == kBool; }
bool IsFloatingDataType(DataType type) {
  return type == kFloat || type == kDouble || type == kFloat16 || type == kBFloat16;
}
bool IsComplexDataType(DataType type) { return type == kComplex32 || type == kComplex64 || type == kComplex128; }
bool IsUnsignedIntegralDataType(DataType type) {
  return type == kUInt8 || type == kUInt16 || type == kUInt32 || type == kUInt64 || type == kUInt128;
}
bool IsIntegralDataType(DataType type) {
  return type == kInt8 || type == kInt16 || type == kInt32 || type == kInt64 || type == kInt128
         || IsUnsignedIntegralDataType(type);
}
DataType RealDataType(DataType type) {
  if (type == kComplex64) { return kFloat; }
  return type == kComplex128 ? kDouble : IsFloatingDataType(type) ? type : kInvalidDataType;
}
DataType ComplexDataType(DataType type) {
  return type == kFloat ? kComplex64 : type == kDouble ? kComplex128 : kInvalidDataType;
}
bool IsIndexDataType(DataType type) { return type == kInt32 || type == kInt64; }

size_t GetSizeOfDataType(DataType type) {
  if (const size_t size = FactsOf(type).size) { return size; }
  UNIMPLEMENTED() << "the size of data type " << type;
}

}  // namespace oneflow

namespace pykernels {

::oneflow::DataType DataTypeNamed(const std::string& name) {
  for (int number = ::oneflow::kFloat; number <= ::oneflow::kComplex128; ++number) {
    const auto type = static_cast<::oneflow::DataType>(number);
    if (::oneflow::FactsOf(type).size > 0 && name == ::oneflow::DataTypeName(type)) { return type; }
  }
  return ::oneflow::kInvalidDataType;
}

}  // namespace pykernels
