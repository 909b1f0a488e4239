/* The C ABI between a kernel and the framework that runs it.
 *
 * A kernel is one function specialised for the dtypes and ranks of its tensors and for those attributes that are not
 * plain numbers. It may be called from any thread, several at once. Unless PK_KERNEL_PYTHON is set it needs no Python.
 */
#ifndef PYKERNELS_KERNEL_H_
#define PYKERNELS_KERNEL_H_

#include "definition.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PK_KERNEL_ABI 2

/* A number handed to a kernel at run time: `integer` for INT32, INT64, BOOL and is_train; `real` for FLOAT, DOUBLE. */
typedef union pk_scalar {
  int64_t integer;
  double real;
} pk_scalar;

enum pk_status {
  PK_OK = 0,
  PK_RAISED = 1,     /* the kernel raised an exception */
  PK_WRONG_SHAPE = 2 /* detail: output, ndim, dims... of what the kernel returned */
};

#define PK_DETAIL_SIZE (2 + PK_MAX_NDIM)

typedef struct pk_kernel pk_kernel;

/* kernel   the kernel itself
 * data     the buffers of the inputs, then of the outputs: C-contiguous, aligned for their dtype (a host copies what
 *          is not); outputs do not overlap inputs
 * dims     the dimensions of every input, then of every output, one after the other without gaps
 * scalars  as `pk_kernel.scalars` lists them
 * begin, end  the range of elements of the first output to compute; only PK_KERNEL_ELEMENTWISE and
 *          PK_KERNEL_ITERATIONS kernels look at it
 * detail   room for PK_DETAIL_SIZE numbers, written on failure
 * returns  a pk_status; on failure the outputs are unspecified */
typedef int32_t (*pk_kernel_fn)(const pk_kernel* kernel, void* const* data, const int64_t* dims,
                                const pk_scalar* scalars, int64_t begin, int64_t end, int64_t* detail);

enum pk_kernel_flags {
  PK_KERNEL_PYTHON = 1,     /* runs as Python: takes the GIL */
  /* [begin, end) of the flattened first output may be computed in pieces, in any order, to the same last bit. Several
   * outputs are cut in proportion. */
  PK_KERNEL_ELEMENTWISE = 2,
  /* The same for a kernel of independent iterations: of n iterations, a range computes those from
   * ceil(begin * n / elements) to ceil(end * n / elements). */
  PK_KERNEL_ITERATIONS = 4
};

/* In pk_kernel.scalars: not an attribute, but whether this is a training pass (1 or 0). */
#define PK_SCALAR_IS_TRAIN (-1)

struct pk_kernel {
  pk_kernel_fn run;
  uint32_t flags;
  int32_t n_scalars;
  const int32_t* scalars; /* for each scalar, the position of its attribute in the definition */
  int64_t id;
  const int32_t* ranks; /* the number of dimensions of every input, then of every output */
};

/* What Python does for a host. Both functions take the GIL, so a host calls them only when it has to. */
typedef struct pk_services {
  /* The kernel of op `op` (the number under which Python entered it) for the dtypes, ranks and attributes of
   * `instance`, built if need be; lives as long as the process. NULL, with `error` written, if there is none. */
  const pk_kernel* (*resolve)(int64_t op, const pk_instance* instance, char* error, size_t size);

  /* Writes what went wrong in a kernel that returned `status`, called with these arguments. Called from the thread
   * that ran the kernel. */
  void (*explain)(const pk_kernel* kernel, const pk_instance* instance, int32_t status, void* const* data,
                  const int64_t* dims, const pk_scalar* scalars, const int64_t* detail, char* text, size_t size);
} pk_services;

#ifdef __cplusplus
}
#endif
#endif /* PYKERNELS_KERNEL_H_ */
