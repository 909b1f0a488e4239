// Operators that are Python classes in MXNet's own terms (CustomOpProp, CustomOp). Python implements the functions that
// MXNet calls, but it never throws through MXNet, never loses an array, and is not needed to delete anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api.h"

extern "C" {

// A CustomOpProp that Python keeps under `id`, and the names that it lists. They stay valid until `id` is retired.
struct PythonProperty {
  int64_t id;
  const char* const* arguments;  // ends with null, like the next two
  const char* const* outputs;
  const char* const* states;
  const int* dependencies;  // of the backward pass, by MXNet's numbers
  int32_t n_dependencies;
};

// A CustomOp that Python keeps under `id`; `unassigned` begins the error about outputs that forward does not assign.
struct PythonOperator {
  int64_t id;
  const char* unassigned;
};

// The maximum number of axes of an array in infer_shape.
enum { kPythonMaxDims = 32 };

// The functions that Python implements. Each returns 0, or writes the reason to `error` and returns 1.
struct PythonFunctions {
  int32_t (*create_property)(const char* op_type, int32_t n, const char** keys, const char** values,
                             struct PythonProperty* made, char* error, size_t size);
  // `shapes` holds the known shapes of the arguments. The inferred ranks go to `ndims`, and the dimensions to `dims`,
  // with room for kPythonMaxDims per array.
  int32_t (*infer_shape)(int64_t id, int32_t n, int* ndims, int** shapes, int* dims, char* error, size_t size);
  int32_t (*infer_type)(int64_t id, int32_t n, int* types, char* error, size_t size);
  int32_t (*infer_storage_type)(int64_t id, int32_t n, int* storages, char* error, size_t size);
  int32_t (*infer_backward_storage_type)(int64_t id, int32_t n, int* storages, const int* tags, char* error,
                                         size_t size);
  int32_t (*create_operator)(int64_t id, const char* context, int32_t n, unsigned** shapes, const int* ndims,
                             const int* types, struct PythonOperator* made, char* error, size_t size);
  // Python frees the first `n_taken` handles, even if it fails.
  int32_t (*run)(int64_t id, int32_t is_backward, int32_t n, void** handles, const int* tags, const int* requests,
                 int32_t is_train, int32_t* n_taken, char* error, size_t size);
};

}  // extern "C"

namespace pykernels::mxnet {

// Sets these once, before the first class is registered; the functions stay valid for the life of the process.
void SetPythonFunctions(const PythonFunctions& functions);

// Creates a property of such an operator; MXNet calls it for each use.
int CreatePythonProperty(const char* op_type, int num_kwargs, const char** keys, const char** values,
                         MXCallbackList* ret);

// Returns an id that MXNet no longer needs, each id once; 0 if there is none now.
int64_t NextRetired();

}  // namespace pykernels::mxnet
