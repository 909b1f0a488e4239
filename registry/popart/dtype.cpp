#include "dtype.h"

#include <popart/error.hpp>

#include <ostream>

namespace popart_cpu {
namespace {

using popart::DataType;

struct Row {
  DataType type;
  std::string name;
  std::string numpy_name;
  int onnx_number;
  poplar::Type device;
};

const Row& Find(DataType type) {
  static const Row kRows[] = {
      {DataType::UINT8, "UINT8", "uint8", 2, poplar::UNSIGNED_CHAR},
      {DataType::INT8, "INT8", "int8", 3, poplar::SIGNED_CHAR},
      {DataType::FLOAT8_143, "FLOAT8_143", "float8_143", 0, poplar::Type()},
      {DataType::FLOAT8_152, "FLOAT8_152", "float8_152", 0, poplar::Type()},
      {DataType::UINT16, "UINT16", "uint16", 4, poplar::UNSIGNED_SHORT},
      {DataType::INT16, "INT16", "int16", 5, poplar::SHORT},
      {DataType::INT32, "INT32", "int32", 6, poplar::INT},
      {DataType::INT64, "INT64", "int64", 7, poplar::LONGLONG},
      {DataType::UINT32, "UINT32", "uint32", 12, poplar::UNSIGNED_INT},
      {DataType::UINT64, "UINT64", "uint64", 13, poplar::UNSIGNED_LONGLONG},
      {DataType::BOOL, "BOOL", "bool", 9, poplar::BOOL},
      {DataType::FLOAT, "FLOAT", "float32", 1, poplar::FLOAT},
      {DataType::FLOAT16, "FLOAT16", "float16", 10, poplar::HALF},
      {DataType::BFLOAT16, "BFLOAT16", "bfloat16", 16, poplar::Type()},
      {DataType::DOUBLE, "DOUBLE", "float64", 11, poplar::Type()},
      {DataType::COMPLEX64, "COMPLEX64", "complex64", 14, poplar::Type()},
      {DataType::COMPLEX128, "COMPLEX128", "complex128", 15, poplar::Type()},
      {DataType::STRING, "STRING", "string", 8, poplar::Type()},
      {DataType::UNDEFINED, "UNDEFINED", "undefined", 0, poplar::Type()},
  };
  return kRows[static_cast<int>(type)];
}

}  // namespace

int OnnxNumber(DataType type) {
  const int number = Find(type).onnx_number;
  if (number == 0) throw popart::error("models have no tensors of type {}", Name(type));
  return number;
}

DataType FromOnnxNumber(int number) {
  for (int i = 0; number != 0 && i < static_cast<int>(DataType::UNDEFINED); ++i) {
    if (Find(static_cast<DataType>(i)).onnx_number == number) return static_cast<DataType>(i);
  }
  throw popart::error("PopART has no type for ONNX's type {}", number);
}

poplar::Type DeviceType(DataType type) {
  const poplar::Type device = Find(type).device;
  if (device == poplar::Type()) throw popart::error("programs have no tensors of type {}", NumpyName(type));
  return device;
}

const std::string& Name(DataType type) { return Find(type).name; }

const std::string& NumpyName(DataType type) { return Find(type).numpy_name; }

}  // namespace popart_cpu

namespace poplar {
namespace {

struct {
  const char* name;
  std::size_t size;
} const kTypes[] = {
    {"no type", 0},        {"float", 4}, {"half", 2},         {"bool", 1},     {"char", 1},
    {"signed char", 1},    {"unsigned char", 1}, {"short", 2}, {"unsigned short", 2}, {"int", 4},
    {"unsigned int", 4},   {"long long", 8},     {"unsigned long long", 8},
};

}  // namespace

std::string Type::toString() const { return kTypes[static_cast<int>(kind_)].name; }

std::size_t Type::size() const { return kTypes[static_cast<int>(kind_)].size; }

std::ostream& operator<<(std::ostream& stream, Type type) { return stream << type.toString(); }

}  // namespace poplar
