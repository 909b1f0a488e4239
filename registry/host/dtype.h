// The element types that kernels compute with, and what a host does with their elements.
#ifndef PYKERNELS_REGISTRY_HOST_DTYPE_H_
#define PYKERNELS_REGISTRY_HOST_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace pykernels {

// Bytes of one element; 0 for a type that no kernel computes with.
size_t ItemSize(int32_t dtype);

// NumPy's name, also for types that no kernel computes with; "unknown" for PK_INVALID_DTYPE.
std::string DtypeName(int32_t dtype);

// The pk_dtype of NumPy's name, and of OneFlow's number; PK_INVALID_DTYPE if there is none.
int32_t DtypeFromName(const std::string& name);
int32_t DtypeFromNumber(int64_t number);

// "float16, float32, ...": the types that kernels compute with.
const std::string& SupportedDtypes();

// Adds `count` elements of `source` to those of `target`. Integers wrap around; for bool it is "or".
void Accumulate(int32_t dtype, void* target, const void* source, size_t count);

// What stands in the outputs of a kernel that has failed: NaN in floating point, else zero.
void FillFailed(int32_t dtype, void* target, size_t count);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_DTYPE_H_
