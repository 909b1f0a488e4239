/* The C ABI between the definition of an op and everything that reads it.
 *
 * A definition is written in OneFlow's registration language against
 * oneflow/core/framework/framework.h, or in Python in MXNet's terms. Either way its readers (Python, and the
 * registrars of the frameworks) see one `pk_definition`, whose boundary is plain C: no C++ type, exception or
 * allocation crosses it.
 *
 * A function returns 0, or after it has written why into `error`: 1 if the op was used wrongly, 2 if the definition
 * itself is wrong. A text with "is not known yet" in it says that shapes, or numbers of tensors, are needed first.
 */
#ifndef PYKERNELS_DEFINITION_H_
#define PYKERNELS_DEFINITION_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PK_DEFINITION_ABI 1

/* The most axes that a tensor can have. */
#define PK_MAX_NDIM 20

/* Element types. The numbers are those of OneFlow's DataType. */
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

/* Attribute types. The numbers are those of OneFlow's AttrType. */
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

/* The value of an attribute; `type` says which members hold it. */
typedef struct pk_attr {
  const char* name;
  int32_t type;               /* a pk_attr_type */
  int32_t count;              /* how many values a SHAPE or a LIST has; else 1 */
  int64_t integer;            /* INT32, INT64, BOOL, DTYPE */
  double real;                /* FLOAT, DOUBLE */
  const char* text;           /* STRING */
  const int64_t* integers;    /* SHAPE, LIST_INT32, LIST_INT64, LIST_DTYPE: `count` values;
                                 LIST_SHAPE: `count` times (ndim, dims...) */
  const double* reals;        /* LIST_FLOAT */
  const char* const* texts;   /* LIST_STRING */
} pk_attr;

/* An input or output as the op declares it. */
typedef struct pk_argument {
  const char* name;
  int32_t count;     /* how many tensors it stands for; the least number when variadic */
  int32_t variadic;  /* takes `count` tensors or more */
  int32_t optional;  /* may be left out */
  int32_t is_mutable; /* an input that the kernel changes in place: an auxiliary state, which has no gradient */
} pk_argument;

/* An attribute as the op declares it; `initial` holds its name, type and, if any, its default. */
typedef struct pk_attribute {
  pk_attr initial;
  int32_t has_default;
} pk_attribute;

enum pk_op_flags {
  PK_OP_INFERS_SHAPE = 1,  /* has a function that infers shapes (and perhaps dtypes) */
  PK_OP_INFERS_DTYPE = 2,  /* has a function of its own that infers dtypes */
  PK_OP_HAS_SBP = 4,       /* has a function that lists its SBP signatures */
  PK_OP_NO_GRADIENT = 8,   /* declared not differentiable */
  PK_OP_CPU_ONLY = 16,
  PK_OP_INFERS_INPUTS = 32 /* `infer` also completes input shapes that are unknown */
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

/* One use of an op: its tensors in the order of the definition (an optional argument left out has none), and all
 * its attributes in the order of the definition. */
typedef struct pk_instance {
  const char* name; /* op name, for messages and for the names in a gradient plan */
  int32_t n_inputs, n_outputs, n_attrs;
  pk_tensor* inputs;
  pk_tensor* outputs;
  const pk_attr* attrs;
  int64_t parallel_num;
} pk_instance;

/* What a gradient function asks for, told step by step. Blob names: "I/x/0" forward input x 0, "O/y/0" forward
 * output, "D/y/0" gradient of a forward output, "<op name>/dx_0" output of an op of the plan. */
typedef struct pk_plan_sink {
  void* user;
  void (*op)(void* user, const char* name, const char* type); /* begins an op; inputs, outputs, attributes follow */
  void (*input)(void* user, const char* argument, const char* blob);
  void (*output)(void* user, const char* argument, int32_t count);
  void (*attribute)(void* user, const pk_attr* attribute);
  void (*bind)(void* user, const char* argument, int32_t index, const char* blob); /* gradient of a forward input */
  void (*note)(void* user, const char* text); /* what the plan takes for granted; may be NULL */
} pk_plan_sink;

/* One distribution: `kind` is 'S' (split along `axis`), 'B' (broadcast) or 'P' (partial sum). Entries with the same
 * `signature` belong together. */
typedef void (*pk_sbp_sink)(void* user, int32_t signature, const char* argument, int32_t index, int32_t kind,
                            int64_t axis);

typedef struct pk_definition {
  uint32_t abi; /* PK_DEFINITION_ABI */
  int32_t n_ops, n_gradients;
  const pk_op* ops;
  const pk_gradient* gradients;

  /* Fills the dtype and dims of instance->outputs. A dtype that the definition leaves alone becomes that of the first
   * input. Under PK_OP_INFERS_INPUTS, unknown inputs are completed as well. Without that, inputs of unknown shape leave
   * the shapes of the outputs unknown if dtypes have a function of their own (PK_OP_INFERS_DTYPE), and fail otherwise;
   * with inputs of unknown dtype that function is not called. Called from any thread. */
  int32_t (*infer)(int32_t op, pk_instance* instance, char* error, size_t size);

  /* Plans the backward pass of one forward instance. Tensors of unknown shape ask for the plan before shapes are known,
   * n_inputs == n_outputs == 0 also before it is known how many tensors repeated and optional arguments stand for; a
   * definition whose plan depends on what is not known yet then fails. */
  int32_t (*gradient)(int32_t gradient, const pk_instance* forward, const pk_plan_sink* sink, char* error, size_t size);

  int32_t (*sbp)(int32_t op, const pk_instance* instance, pk_sbp_sink sink, void* user, char* error, size_t size);
} pk_definition;

/* The one symbol that a built definition exports. NULL, with `error` written, if registration itself failed. */
const pk_definition* pykernels_definition(char* error, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* PYKERNELS_DEFINITION_H_ */
