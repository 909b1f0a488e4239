// The element types that kernels compute with, and what frameworks do with their elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pykernels {

// Returns the bytes of one element; 0 for a type that no kernel computes with.
size_t ItemSize(int32_t dtype);

// Returns NumPy's name, also for types that no kernel computes with; "unknown" for PK_INVALID_DTYPE.
std::string DtypeName(int32_t dtype);

// Return the pk_dtype for NumPy's name or for OneFlow's number; PK_INVALID_DTYPE if there is none.
int32_t DtypeFromName(const std::string& name);
int32_t DtypeFromNumber(int64_t number);

// Returns "bfloat16, float16, float32, ...", the types that kernels compute with.
const std::string& SupportedDtypes();

// Adds `count` elements of `source` to those of `target`. Integers wrap around; bool uses "or".
void Accumulate(int32_t dtype, void* target, const void* source, size_t count);

// Fills the output of a failed kernel: NaN for floating point, zero otherwise.
void FillFailed(int32_t dtype, void* target, size_t count);

}  // namespace pykernels
