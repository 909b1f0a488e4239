#include "dtype.h"

#include <pykernels/definition.h>

#include <cstring>
#include <limits>

#include "error.h"
#include "half.h"

namespace pykernels {
namespace {

struct Row {
  int32_t dtype;
  const char* name;
  size_t size;  // 0 if no kernel computes with it
};

constexpr Row kRows[] = {
    {PK_BFLOAT16, "bfloat16", 2}, {PK_FLOAT16, "float16", 2},     {PK_FLOAT32, "float32", 4},
    {PK_FLOAT64, "float64", 8},   {PK_INT8, "int8", 1},           {PK_INT16, "int16", 2},
    {PK_INT32, "int32", 4},       {PK_INT64, "int64", 8},         {PK_UINT8, "uint8", 1},
    {PK_UINT16, "uint16", 2},     {PK_UINT32, "uint32", 4},       {PK_UINT64, "uint64", 8},
    {PK_BOOL, "bool", 1},         {PK_COMPLEX64, "complex64", 8}, {PK_COMPLEX128, "complex128", 16},
    {PK_CHAR, "char", 0},
};

const Row* Find(int32_t dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

template <typename T>
void Add(void* target, const void* source, size_t count) {
  T* to = static_cast<T*>(target);
  const T* from = static_cast<const T*>(source);
  for (size_t i = 0; i < count; ++i) to[i] = static_cast<T>(to[i] + from[i]);
}

template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float)>
void AddHalf(void* target, const void* source, size_t count) {
  uint16_t* to = static_cast<uint16_t*>(target);
  const uint16_t* from = static_cast<const uint16_t*>(source);
  for (size_t i = 0; i < count; ++i) to[i] = Narrow(Widen(to[i]) + Widen(from[i]));
}

void Or(void* target, const void* source, size_t count) {
  uint8_t* to = static_cast<uint8_t*>(target);
  const uint8_t* from = static_cast<const uint8_t*>(source);
  for (size_t i = 0; i < count; ++i) to[i] = to[i] || from[i];
}

template <typename T>
void Fill(void* target, size_t count, T value) {
  T* to = static_cast<T*>(target);
  for (size_t i = 0; i < count; ++i) to[i] = value;
}

}  // namespace

size_t ItemSize(int32_t dtype) {
  const Row* row = Find(dtype);
  return row ? row->size : 0;
}

std::string DtypeName(int32_t dtype) {
  if (dtype == PK_INVALID_DTYPE) return "unknown";
  const Row* row = Find(dtype);
  return row ? row->name : Join("OneFlow data type ", dtype);
}

int32_t DtypeFromName(const std::string& name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  if (name == "bool_") return PK_BOOL;
  return PK_INVALID_DTYPE;
}

int32_t DtypeFromNumber(int64_t number) {
  for (const Row& row : kRows) {
    if (number == row.dtype) return row.dtype;
  }
  return PK_INVALID_DTYPE;
}

const std::string& SupportedDtypes() {
  static const std::string names = [] {
    std::string text;
    for (const Row& row : kRows) {
      if (row.size) text += (text.empty() ? "" : ", ") + std::string(row.name);
    }
    return text;
  }();
  return names;
}

void Accumulate(int32_t dtype, void* target, const void* source, size_t count) {
  // Use unsigned types, because signed overflow is undefined; the bits of the sum are the same.
  switch (dtype) {
    case PK_FLOAT16: return AddHalf<HalfToFloat, FloatToHalf>(target, source, count);
    case PK_BFLOAT16: return AddHalf<BfloatToFloat, FloatToBfloat>(target, source, count);
    case PK_FLOAT32: return Add<float>(target, source, count);
    case PK_FLOAT64: return Add<double>(target, source, count);
    case PK_COMPLEX64: return Add<float>(target, source, 2 * count);
    case PK_COMPLEX128: return Add<double>(target, source, 2 * count);
    case PK_INT8:
    case PK_UINT8: return Add<uint8_t>(target, source, count);
    case PK_INT16:
    case PK_UINT16: return Add<uint16_t>(target, source, count);
    case PK_INT32:
    case PK_UINT32: return Add<uint32_t>(target, source, count);
    case PK_INT64:
    case PK_UINT64: return Add<uint64_t>(target, source, count);
    case PK_BOOL: return Or(target, source, count);
    default: Fail(kCallError, "cannot add to a tensor of dtype ", DtypeName(dtype));
  }
}

void FillFailed(int32_t dtype, void* target, size_t count) {
  switch (dtype) {
    case PK_FLOAT16: return Fill<uint16_t>(target, count, 0x7e00u);
    case PK_BFLOAT16: return Fill<uint16_t>(target, count, 0x7fc0u);
    case PK_FLOAT32: return Fill(target, count, std::numeric_limits<float>::quiet_NaN());
    case PK_FLOAT64: return Fill(target, count, std::numeric_limits<double>::quiet_NaN());
    case PK_COMPLEX64: return Fill(target, 2 * count, std::numeric_limits<float>::quiet_NaN());
    case PK_COMPLEX128: return Fill(target, 2 * count, std::numeric_limits<double>::quiet_NaN());
    default: std::memset(target, 0, count * ItemSize(dtype));
  }
}

}  // namespace pykernels
