// The code shared by the functions of a C library; pykernels/tools/ship/c_source.py writes one function for each op.
#pragma once

#include <pykernels/definition.h>

#include <vector>

// The same definition as in a library's header, which may be included after this one.
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

// Calls op `op` of the table on arrays; if an output has no data, only computes the dtypes and shapes of the outputs.
// Returns 0, or writes an error to `error` and returns 1.
int32_t CallOp(int32_t op, const std::vector<CArgument>& inputs, const std::vector<CArgument>& outputs,
               const std::vector<pk_attr>& attributes, char* error, size_t size);

// Reports a call without attributes of an op that needs some.
int32_t Refuse(const char* op, char* error, size_t size);

}  // namespace pykernels::library
