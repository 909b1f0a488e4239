/* The C ABI between a kernel and the framework that runs it.
 *
 * A kernel is one function, specialized for the dtypes and ranks of its tensors and for the values of all attributes
 * that are not among its scalars. Several threads may call it at the same time. It needs Python only if
 * PK_KERNEL_PYTHON is set.
 */
#pragma once

#include "definition.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PK_KERNEL_ABI 4

/* A number passed to a kernel at run time: `integer` for INT32, INT64, BOOL and is_train; `real` for FLOAT, DOUBLE. */
typedef union pk_scalar {
  int64_t integer;
  double real;
} pk_scalar;

enum pk_status {
  PK_OK = 0,
  PK_RAISED = 1,     /* the kernel raised an exception */
  PK_WRONG_SHAPE = 2 /* the kernel returned an array of another shape; detail: output, ndim, dims... of the array */
};

#define PK_DETAIL_SIZE (2 + PK_MAX_NDIM)

typedef struct pk_kernel pk_kernel;

/* kernel   the kernel itself
 * data     the buffers of the inputs, then of the outputs: C-contiguous and aligned for their dtype (the host copies
 *          arrays that are not); outputs do not overlap inputs
 * dims     the dimensions of every input, then of every output, without gaps
 * scalars  in the order of `pk_kernel.scalars`
 * begin, end  the range of elements of the first output to compute; used only by PK_KERNEL_ELEMENTWISE and
 *          PK_KERNEL_ITERATIONS kernels
 * detail   a buffer for PK_DETAIL_SIZE numbers, written on failure
 * returns  a pk_status; on failure the contents of the outputs are unspecified */
typedef int32_t (*pk_kernel_fn)(const pk_kernel* kernel, void* const* data, const int64_t* dims,
                                const pk_scalar* scalars, int64_t begin, int64_t end, int64_t* detail);

enum pk_kernel_flags {
  PK_KERNEL_PYTHON = 1,     /* runs as Python: takes the GIL */
  /* The elements [begin, end) of the flattened first output may be computed in pieces, in any order, with bitwise
   * identical results. Other outputs are divided in proportion. */
  PK_KERNEL_ELEMENTWISE = 2,
  /* The same for a kernel with independent iterations: of n iterations, a range runs those from
   * ceil(begin * n / elements) to ceil(end * n / elements). */
  PK_KERNEL_ITERATIONS = 4
};

/* In pk_kernel.scalars: not an attribute, but 1 in a training pass and 0 otherwise. */
#define PK_SCALAR_IS_TRAIN (-1)

struct pk_kernel {
  pk_kernel_fn run;
  uint32_t flags;
  int32_t n_scalars;
  const int32_t* scalars; /* the position of each scalar's attribute in the definition */
  const int32_t* ranks; /* the number of dimensions of every input, then of every output */
};

/* The functions that Python provides to a host. Both take the GIL, so a host calls them only when it must. */
typedef struct pk_services {
  /* Returns the kernel of an op, identified by the id that Python gave it, specialized for the dtypes, ranks and
   * attributes of `instance`. The kernel is compiled if necessary and lives as long as the process. Returns NULL and
   * writes `error` on failure. */
  const pk_kernel* (*resolve)(int64_t kernel_id, const pk_instance* instance, char* error, size_t size);

  /* Writes why a kernel that was called with these arguments returned `status`; nothing if plain NumPy has computed the
   * outputs since. Must be called from the thread that ran the kernel. */
  void (*explain)(const pk_kernel* kernel, const pk_instance* instance, int32_t status, void* const* data,
                  const int64_t* dims, const pk_scalar* scalars, const int64_t* detail, char* text, size_t size);
} pk_services;

#ifdef __cplusplus
}
#endif
