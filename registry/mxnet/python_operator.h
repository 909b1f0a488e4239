// Operators that are Python classes in MXNet's own terms (CustomOpProp, CustomOp). Python answers what MXNet asks, but
// never throws through MXNet, never loses an array, and is never needed to delete anything.
#ifndef PYKERNELS_REGISTRY_MXNET_PYTHON_OPERATOR_H_
#define PYKERNELS_REGISTRY_MXNET_PYTHON_OPERATOR_H_

#include <cstddef>
#include <cstdint>

#include "api.h"

extern "C" {

// A CustomOpProp that Python keeps under `id`, and what it lists. All of it stays valid until `id` is retired.
struct PythonProperty {
  int64_t id;
  const char* const* arguments;  // ended by null, as the next two
  const char* const* outputs;
  const char* const* states;
  const int* dependencies;  // of the backward pass, by MXNet's numbers
  int32_t n_dependencies;
};

// A CustomOp that Python keeps under `id`; `unassigned` begins the error about outputs that its forward leaves alone.
struct PythonOperator {
  int64_t id;
  const char* unassigned;
};

// The most axes of an array that infer_shape may give.
enum { kPythonMaxDims = 32 };

// What Python answers. Each returns 0, or 1 after it has written why into `error`.
struct PythonFunctions {
  int32_t (*create_property)(const char* op_type, int32_t n, const char** keys, const char** values,
                             struct PythonProperty* made, char* error, size_t size);
  // `shapes` holds those that are known, of the arguments. What is inferred goes to `ndims` and, kPythonMaxDims for
  // each array, to `dims`.
  int32_t (*infer_shape)(int64_t id, int32_t n, int* ndims, int** shapes, int* dims, char* error, size_t size);
  int32_t (*infer_type)(int64_t id, int32_t n, int* types, char* error, size_t size);
  int32_t (*infer_storage_type)(int64_t id, int32_t n, int* storages, char* error, size_t size);
  int32_t (*infer_backward_storage_type)(int64_t id, int32_t n, int* storages, const int* tags, char* error,
                                         size_t size);
  int32_t (*create_operator)(int64_t id, const char* context, int32_t n, unsigned** shapes, const int* ndims,
                             const int* types, struct PythonOperator* made, char* error, size_t size);
  // The first `n_taken` of the handles are Python's to free, whatever is returned.
  int32_t (*run)(int64_t id, int32_t is_backward, int32_t n, void** handles, const int* tags, const int* requests,
                 int32_t is_train, int32_t* n_taken, char* error, size_t size);
};

}  // extern "C"

namespace pykernels::mxnet {

// Set once, before the first class is registered; the functions stay valid as long as the process lives.
void SetPythonFunctions(const PythonFunctions& functions);

// The creator of every such operator.
int CreatePythonProperty(const char* op_type, int num_kwargs, const char** keys, const char** values,
                         MXCallbackList* ret);

// Whether these are the functions of such an operator at one place of a graph.
bool IsPythonOperator(const MXCallbackList& list);

// An id that MXNet has no more use for, each given once; 0 if there is none now.
int64_t NextRetired();

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_PYTHON_OPERATOR_H_
