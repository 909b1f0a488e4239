// The tables of a library that runs ops without Python, written by pykernels/tools/ship/source.py.
#pragma once

#include <pykernels/kernel.h>

#include <memory>

#include "../host/op.h"

namespace pykernels::library {

// An op type.
struct OpEntry {
  const pk_definition* (*definition)(char* error, size_t size);
  int32_t index;  // position in its definition
  const char* domain;
  const char* name;   // name of its nodes
  const char* where;  // file and line of its kernel
  int32_t n_rows;
  const int32_t* dtypes;  // as for onnxruntime::NodeType
};

// The properties that a kernel was compiled for.
struct TensorEntry {
  const char* argument;
  int32_t index;
  int32_t dtype;
  int32_t ndim;  // negative for any
};

// A compiled kernel, and what it was compiled for.
struct KernelEntry {
  int32_t op;  // position in the table of ops, which is the kernel_id of pk_services.resolve
  pk_kernel_fn run;
  uint32_t flags;
  int32_t n_inputs, n_outputs;
  const TensorEntry* tensors;  // inputs, then outputs
  int32_t n_scalars;
  const int32_t* scalars;  // as in pk_kernel
  int32_t n_constants;
  const pk_attr* constants;  // values of attributes compiled into it
};

// Each library defines these.
extern const int32_t n_ops;
extern const OpEntry ops[];
extern const int32_t n_kernels;
extern const KernelEntry kernels[];

// Returns an op of the table, with functions that resolve and explain its kernels.
std::shared_ptr<const Op> MakeOp(int32_t number);

}  // namespace pykernels::library
