// What a library holds that runs ops without Python: tables that pykernels/tools/ship/source.py writes.
#ifndef PYKERNELS_REGISTRY_LIBRARY_LIBRARY_H_
#define PYKERNELS_REGISTRY_LIBRARY_LIBRARY_H_

#include <pykernels/kernel.h>

#include <memory>

#include "../host/op.h"

namespace pykernels::library {

// An op type.
struct OpEntry {
  const pk_definition* (*definition)(char* error, size_t size);
  int32_t index;  // in its definition
  const char* domain;
  const char* name;   // of its nodes
  const char* where;  // file and line of its kernel
  int32_t n_rows;
  const int32_t* dtypes;  // as onnxruntime::NodeType takes them
};

// What a kernel was compiled for.
struct TensorEntry {
  const char* argument;
  int32_t index;
  int32_t dtype;
  int32_t ndim;  // negative for any
};

struct KernelEntry {
  int32_t op;  // in the table of ops
  pk_kernel_fn run;
  uint32_t flags;
  int32_t n_inputs, n_outputs;
  const TensorEntry* tensors;  // inputs, then outputs
  int32_t n_scalars;
  const int32_t* scalars;  // as in pk_kernel
  int32_t n_constants;
  const pk_attr* constants;  // attributes that it was compiled for
};

// Written for each library.
extern const int32_t n_ops;
extern const OpEntry ops[];
extern const int32_t n_kernels;
extern const KernelEntry kernels[];

// An op of the table, with what resolves and explains its kernels.
std::shared_ptr<const Op> MakeOp(int32_t number);

}  // namespace pykernels::library

#endif  // PYKERNELS_REGISTRY_LIBRARY_LIBRARY_H_
