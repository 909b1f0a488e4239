// What the functions of a library for C have in common; one is written for each op (pykernels/tools/ship/c_source.py).
#ifndef PYKERNELS_REGISTRY_LIBRARY_C_API_H_
#define PYKERNELS_REGISTRY_LIBRARY_C_API_H_

#include <pykernels/definition.h>

#include <vector>

// As in the header of a library, which may be included after this one.
#define PYKERNELS_ARRAY
struct pykernels_array {
  void* data;
  int32_t dtype;
  int32_t ndim;
  int64_t shape[PK_MAX_NDIM];
};

namespace pykernels::library {

// The arrays of one argument.
struct CArgument {
  const pykernels_array* const* arrays;
  int32_t count;
};

// Calls op `op` of the table on arrays, or tells only what its outputs are like where one has no data. Returns 0, or 1
// after it has written why not into `error`.
int32_t CallOp(int32_t op, const std::vector<CArgument>& inputs, const std::vector<CArgument>& outputs,
               const std::vector<pk_attr>& attributes, char* error, size_t size);

// For a call without attributes of an op that needs some.
int32_t Refuse(const char* op, char* error, size_t size);

}  // namespace pykernels::library

#endif  // PYKERNELS_REGISTRY_LIBRARY_C_API_H_
