/* The C ABI between the definition of an op and the code that reads it.
 *
 * A definition is written either in C++, in OneFlow's registration language (oneflow/core/framework/framework.h), or in
 * Python, in MXNet's terms. In both cases its readers (Python and the registrars of the frameworks) see one
 * `pk_definition`. Its interface is plain C: no C++ type, exception or allocation crosses it.
 *
 * Functions return 0 on success. On failure they write the reason to `error` and return 1 if the op was used wrongly,
 * or 2 if the definition itself is wrong. A message that contains "is not known yet" means that the function needs
 * shapes or numbers of tensors that have not been inferred yet.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PK_DEFINITION_ABI 1

/* The maximum number of axes of a tensor. */
#define PK_MAX_NDIM 20

/* Element types, with the numbers of OneFlow's DataType. */
typedef enum pk_dtype {
  PK_INVALID_DTYPE = 0,
  PK_CHAR = 1,
  PK_FLOAT32 = 2,
  PK_FLOAT64 = 3,
  PK_INT8 = 4,
  PK_INT32 = 5,
  PK_INT64 = 6,
  PK_UINT8 = 7,
  PK_FLOAT16 = 9,
  PK_BFLOAT16 = 11,
  PK_BOOL = 12,
  PK_UINT16 = 13,
  PK_UINT32 = 14,
  PK_UINT64 = 15,
  PK_INT16 = 17,
  PK_COMPLEX64 = 20,
  PK_COMPLEX128 = 21
} pk_dtype;

/* Attribute types, with the numbers of OneFlow's AttrType. */
typedef enum pk_attr_type {
  PK_ATTR_INT32 = 1,
  PK_ATTR_INT64 = 2,
  PK_ATTR_BOOL = 3,
  PK_ATTR_FLOAT = 4,
  PK_ATTR_DOUBLE = 5,
  PK_ATTR_STRING = 6,
  PK_ATTR_SHAPE = 7,
  PK_ATTR_DTYPE = 8,
  PK_ATTR_LIST_INT32 = 9,
  PK_ATTR_LIST_INT64 = 10,
  PK_ATTR_LIST_FLOAT = 11,
  PK_ATTR_LIST_DTYPE = 12,
  PK_ATTR_LIST_SHAPE = 13,
  PK_ATTR_LIST_STRING = 14
} pk_attr_type;

/* The value of an attribute; `type` determines which members hold it. */
typedef struct pk_attr {
  const char* name;
  int32_t type;               /* a pk_attr_type */
  int32_t count;              /* the number of values of a SHAPE or a LIST; otherwise 1 */
  int64_t integer;            /* INT32, INT64, BOOL, DTYPE */
  double real;                /* FLOAT, DOUBLE */
  const char* text;           /* STRING */
  const int64_t* integers;    /* SHAPE, LIST_INT32, LIST_INT64, LIST_DTYPE: `count` values;
                                 LIST_SHAPE: `count` times (ndim, dims...) */
  const double* reals;        /* LIST_FLOAT */
  const char* const* texts;   /* LIST_STRING */
} pk_attr;

/* The declaration of an input or output. */
typedef struct pk_argument {
  const char* name;
  int32_t count;     /* the number of tensors; the minimum if variadic */
  int32_t variadic;  /* takes `count` tensors or more */
  int32_t optional;  /* may be left out */
  int32_t is_mutable; /* an input that the kernel changes in place: an auxiliary state, which has no gradient */
} pk_argument;

/* The declaration of an attribute; `initial` holds its name, its type and its default, if it has one. */
typedef struct pk_attribute {
  pk_attr initial;
  int32_t has_default;
} pk_attribute;

enum pk_op_flags {
  PK_OP_INFERS_SHAPE = 1,  /* has a function that infers shapes (and perhaps dtypes) */
  PK_OP_INFERS_DTYPE = 2,  /* has a separate function that infers dtypes */
  PK_OP_HAS_SBP = 4,       /* has a function that lists its SBP signatures */
  PK_OP_NO_GRADIENT = 8,   /* declared not differentiable */
  PK_OP_CPU_ONLY = 16,
  PK_OP_INFERS_INPUTS = 32 /* `infer` also fills in unknown shapes of inputs */
};

typedef struct pk_op {
  const char* name; /* op type name, such as relu_forward */
  const char* file; /* where it is registered */
  int32_t line;
  uint32_t flags;
  int32_t n_inputs, n_outputs, n_attributes;
  const pk_argument* inputs;
  const pk_argument* outputs;
  const pk_attribute* attributes;
} pk_op;

/* A registered gradient: a function that plans the backward pass of the op type `op`. */
typedef struct pk_gradient {
  const char* op;
  const char* file;
  int32_t line;
} pk_gradient;

/* One tensor of an instance. */
typedef struct pk_tensor {
  const char* argument;
  int32_t index;  /* among the tensors of its argument */
  int32_t dtype;  /* a pk_dtype; PK_INVALID_DTYPE while unknown */
  int32_t ndim;   /* -1 while unknown */
  int32_t is_dynamic;
  int64_t dims[PK_MAX_NDIM];
} pk_tensor;

/* One use of an op: its tensors and all its attributes, in the order of the definition. An optional argument that is
 * left out has no tensors. */
typedef struct pk_instance {
  const char* name; /* the name of the op, used in messages and in the names of a gradient plan */
  int32_t n_inputs, n_outputs, n_attrs;
  pk_tensor* inputs;
  pk_tensor* outputs;
  const pk_attr* attrs;
  int64_t parallel_num;
} pk_instance;

/* Receives a gradient plan step by step. Names of blobs: "I/x/0" is tensor 0 of forward input x, "O/y/0" a forward
 * output, "D/y/0" the gradient of a forward output, and "<op name>/dx_0" an output of an op of the plan. */
typedef struct pk_plan_sink {
  void* user;
  void (*op)(void* user, const char* name, const char* type); /* begins an op; its inputs, outputs, attributes follow */
  void (*input)(void* user, const char* argument, const char* blob);
  void (*output)(void* user, const char* argument, int32_t count);
  void (*attribute)(void* user, const pk_attr* attribute);
  void (*bind)(void* user, const char* argument, int32_t index, const char* blob); /* sets a forward input's gradient */
  void (*note)(void* user, const char* text); /* an assumption of the plan; the pointer may be NULL */
} pk_plan_sink;

/* Receives how one tensor is distributed: `kind` is 'S' (split along `axis`), 'B' (broadcast) or 'P' (partial sum).
 * Entries with the same `signature` form one SBP signature. */
typedef void (*pk_sbp_sink)(void* user, int32_t signature, const char* argument, int32_t index, int32_t kind,
                            int64_t axis);

typedef struct pk_definition {
  uint32_t abi; /* PK_DEFINITION_ABI */
  int32_t n_ops, n_gradients;
  const pk_op* ops;
  const pk_gradient* gradients;

  /* Infers the dtype and dims of instance->outputs. An output whose dtype the definition does not set gets the dtype of
   * the first input. With PK_OP_INFERS_INPUTS, unknown inputs are filled in as well. Without it, if an input's shape is
   * unknown, an op with PK_OP_INFERS_DTYPE leaves the shapes of its outputs unknown, and any other op fails. If an
   * input's dtype is unknown, the function that infers dtypes is not called. May be called from any thread. */
  int32_t (*infer)(int32_t op, pk_instance* instance, char* error, size_t size);

  /* Plans the backward pass of one forward instance. The shapes of the tensors may still be unknown. If n_inputs and
   * n_outputs are 0, the numbers of tensors of repeated and optional arguments are unknown, too. Fails if the plan
   * depends on something unknown. */
  int32_t (*gradient)(int32_t gradient, const pk_instance* forward, const pk_plan_sink* sink, char* error, size_t size);

  int32_t (*sbp)(int32_t op, const pk_instance* instance, pk_sbp_sink sink, void* user, char* error, size_t size);
} pk_definition;

/* The only symbol that a compiled definition exports. Returns NULL and writes `error` if registration failed. */
const pk_definition* pykernels_definition(char* error, size_t size);

#ifdef __cplusplus
}
#endif
