/* A definition and its kernels, written out by hand in C: what registrars see, without anything of Python in it. */
#include <pykernels/kernel.h>

#include <stdio.h>
#include <string.h>

enum { SCALE, SCALE_BACKWARD, PAIR, PAIR_BACKWARD, EVERY, PICKY, BAD_PLAN, CONSTANT, FILL, JOIN, STATE, PIECES, N_OPS };
enum { SCALE_GRADIENT, PAIR_GRADIENT, BAD_GRADIENT, JOIN_GRADIENT, STATE_GRADIENT, N_GRADIENTS };

/* -- What there is ------------------------------------------------------------------------------------------------ */

static const pk_argument x[] = {{"x", 1, 0, 0}};
static const pk_argument y[] = {{"y", 1, 0, 0}};
static const pk_argument dx[] = {{"dx", 1, 0, 0}};
static const pk_argument x_dy[] = {{"x", 1, 0, 0}, {"dy", 1, 0, 0}};
static const pk_argument a_b[] = {{"a", 1, 0, 0}, {"b", 1, 0, 0}};
static const pk_argument sum_product[] = {{"sum", 1, 0, 0}, {"product", 1, 0, 0}};
static const pk_argument pair_backward_in[] = {{"a", 1, 0, 0}, {"b", 1, 0, 0}, {"ds", 1, 0, 0}, {"dp", 1, 0, 0}};
static const pk_argument da_db[] = {{"da", 1, 0, 0}, {"db", 1, 0, 0}};
static const pk_argument x_index[] = {{"x", 1, 0, 0}, {"index", 1, 0, 0}};
static const pk_argument join_in[] = {{"x", 1, 1, 0}, {"bias", 1, 0, 1}};
static const pk_argument x_state[] = {{"x", 1, 0, 0, 0}, {"state", 1, 0, 0, 1}};
static const pk_argument x_w[] = {{"x", 1, 0, 0}, {"w", 1, 0, 0}};

static const pk_attribute alpha[] = {{{"alpha", PK_ATTR_FLOAT, 1, 0, 2.0}, 1}};
static const int64_t no_integers[1] = {0};
static const double no_reals[1] = {0};
static const char* const no_texts[1] = {""};
#define REQUIRED(name, type) {{name, type, 0, 0, 0.0, "", no_integers, no_reals, no_texts}, 0}
static const pk_attribute every[] = {
    REQUIRED("int32", PK_ATTR_INT32),
    REQUIRED("int64", PK_ATTR_INT64),
    REQUIRED("bool", PK_ATTR_BOOL),
    REQUIRED("float", PK_ATTR_FLOAT),
    REQUIRED("double", PK_ATTR_DOUBLE),
    REQUIRED("string", PK_ATTR_STRING),
    REQUIRED("shape", PK_ATTR_SHAPE),
    REQUIRED("dtype", PK_ATTR_DTYPE),
    REQUIRED("list_int32", PK_ATTR_LIST_INT32),
    REQUIRED("list_int64", PK_ATTR_LIST_INT64),
    REQUIRED("list_float", PK_ATTR_LIST_FLOAT),
    REQUIRED("list_dtype", PK_ATTR_LIST_DTYPE),
    REQUIRED("list_shape", PK_ATTR_LIST_SHAPE),
    REQUIRED("list_string", PK_ATTR_LIST_STRING),
};

static const pk_op ops[N_OPS] = {
    {"scale_forward", __FILE__, 1, PK_OP_INFERS_SHAPE, 1, 1, 1, x, y, alpha},
    {"scale_backward", __FILE__, 2, PK_OP_INFERS_SHAPE, 2, 1, 1, x_dy, dx, alpha},
    {"pair_forward", __FILE__, 3, PK_OP_INFERS_SHAPE, 2, 2, 0, a_b, sum_product, 0},
    {"pair_backward", __FILE__, 4, PK_OP_INFERS_SHAPE, 4, 2, 0, pair_backward_in, da_db, 0},
    {"every_forward", __FILE__, 5, PK_OP_INFERS_SHAPE, 1, 1, 14, x, y, every},
    {"picky_forward", __FILE__, 6, PK_OP_INFERS_SHAPE, 2, 1, 0, x_index, y, 0},
    {"bad_plan_forward", __FILE__, 7, PK_OP_INFERS_SHAPE, 1, 1, 0, x, y, 0},
    {"constant_forward", __FILE__, 8, PK_OP_INFERS_SHAPE | PK_OP_NO_GRADIENT, 1, 1, 0, x, y, 0},
    {"fill_forward", __FILE__, 9, PK_OP_INFERS_SHAPE | PK_OP_INFERS_INPUTS, 2, 1, 0, x_w, y, 0},
    {"join_forward", __FILE__, 10, PK_OP_INFERS_SHAPE, 2, 1, 0, join_in, y, 0},
    {"state_forward", __FILE__, 11, PK_OP_INFERS_SHAPE | PK_OP_INFERS_INPUTS, 2, 1, 0, x_state, y, 0},
    {"pieces_forward", __FILE__, 12, PK_OP_INFERS_SHAPE, 1, 1, 1, x, y, alpha},
};

static const pk_gradient gradients[N_GRADIENTS] = {
    {"scale_forward", __FILE__, 1},
    {"pair_forward", __FILE__, 3},
    {"bad_plan_forward", __FILE__, 7},
    {"join_forward", __FILE__, 10},
    {"state_forward", __FILE__, 11},
};

/* -- Inference ---------------------------------------------------------------------------------------------------- */

static void copy(const pk_tensor* from, pk_tensor* to) {
  to->dtype = from->dtype;
  to->ndim = from->ndim;
  memcpy(to->dims, from->dims, sizeof to->dims);
}

static int32_t fail(char* error, size_t size, const char* text) {
  snprintf(error, size, "definition.c: %s", text);
  return 1;
}

static int same(const pk_tensor* a, const pk_tensor* b) {
  return a->ndim == b->ndim && memcmp(a->dims, b->dims, a->ndim * sizeof a->dims[0]) == 0;
}

static int32_t infer(int32_t op, pk_instance* use, char* error, size_t size) {
  const pk_tensor* first = &use->inputs[0];
  if (first->ndim < 0 && op != CONSTANT) return fail(error, size, "the shape of the first input is not known");
  if (op == PAIR || op == PAIR_BACKWARD) {
    if (!same(first, &use->inputs[1])) return fail(error, size, "a and b must have the same shape");
    copy(first, &use->outputs[1]);
  }
  if (op == PICKY && use->inputs[1].dtype != PK_INT32) return fail(error, size, "index must be int32");
  if (op == JOIN && use->n_inputs > 4) return fail(error, size, "too many");
  if (op == FILL) {
    if (first->ndim != 2) return fail(error, size, "x must have 2 axes");
    pk_tensor* w = &use->inputs[1];
    if (w->ndim < 0) {
      w->ndim = 1;
      w->dims[0] = -1;
    }
    if (w->dims[0] < 0) w->dims[0] = first->dims[1];
    if (w->dims[0] != first->dims[1]) return fail(error, size, "w must be as long as the rows of x");
  }
  if (op == STATE && use->inputs[1].ndim < 0) copy(first, &use->inputs[1]);
  copy(first, &use->outputs[0]);
  if (op == EVERY) {
    use->outputs[0].ndim = use->attrs[6].count;
    memcpy(use->outputs[0].dims, use->attrs[6].integers, use->attrs[6].count * sizeof(int64_t));
    use->outputs[0].dtype = (int32_t)use->attrs[7].integer;
  }
  return 0;
}

/* -- Gradients ---------------------------------------------------------------------------------------------------- */

static int32_t gradient(int32_t which, const pk_instance* forward, const pk_plan_sink* sink, char* error, size_t size) {
  void* user = sink->user;
  switch (which) {
    case SCALE_GRADIENT:
      sink->op(user, "scale_grad", "scale_backward");
      sink->input(user, "x", "I/x/0");
      sink->input(user, "dy", "D/y/0");
      sink->output(user, "dx", 1);
      sink->attribute(user, &forward->attrs[0]);
      sink->bind(user, "x", 0, "scale_grad/dx_0");
      return 0;
    case PAIR_GRADIENT:
      sink->op(user, "pair_grad", "pair_backward");
      sink->input(user, "a", "I/a/0");
      sink->input(user, "b", "I/b/0");
      sink->input(user, "ds", "D/sum/0");
      sink->input(user, "dp", "D/product/0");
      sink->output(user, "da", 1);
      sink->output(user, "db", 1);
      sink->bind(user, "a", 0, "pair_grad/da_0");
      sink->bind(user, "b", 0, "pair_grad/db_0");
      return 0;
    case BAD_GRADIENT:
      sink->op(user, "grad", "nowhere_backward");
      sink->input(user, "dy", "D/y/0");
      sink->output(user, "dx", 1);
      sink->bind(user, "x", 0, "grad/dx_0");
      return 0;
    case STATE_GRADIENT:
      sink->bind(user, "x", 0, "D/y/0");
      return 0;
    case JOIN_GRADIENT:
      /* The gradient of every x is that of y; the bias gets none. */
      if (forward->n_inputs == 0) return fail(error, size, "how many x are there?");
      for (int32_t i = 0; i < forward->n_inputs; ++i) {
        if (strcmp(forward->inputs[i].argument, "x") == 0) sink->bind(user, "x", i, "D/y/0");
      }
      return 0;
  }
  return fail(error, size, "no such gradient");
}

static int32_t sbp(int32_t op, const pk_instance* use, pk_sbp_sink sink, void* user, char* error, size_t size) {
  (void)op, (void)use, (void)sink, (void)user;
  return fail(error, size, "no distributions here");
}

static const pk_definition definition = {PK_DEFINITION_ABI, N_OPS, N_GRADIENTS, ops, gradients, infer, gradient, sbp};

const pk_definition* pykernels_definition(char* error, size_t size) {
  (void)error, (void)size;
  return &definition;
}

/* -- Kernels; each computes element after element, so that they need no more than the number of them -------------- */

#define KERNEL_ARGUMENTS                                                                                            \
  const pk_kernel *kernel, void *const *data, const int64_t *dims, const pk_scalar *scalars, int64_t begin,         \
      int64_t end, int64_t *detail

/* A negative alpha makes it fail, as a kernel does that raises. */
#define SCALE_KERNELS(T)                                                                                            \
  static int32_t scale_##T(KERNEL_ARGUMENTS) {                                                                      \
    (void)kernel, (void)dims, (void)detail;                                                                         \
    if (scalars[0].real < 0) return PK_RAISED;                                                                      \
    for (int64_t i = begin; i < end; ++i) ((T*)data[1])[i] = (T)(((const T*)data[0])[i] * scalars[0].real);         \
    return PK_OK;                                                                                                   \
  }                                                                                                                 \
  static int32_t scale_backward_##T(KERNEL_ARGUMENTS) {                                                             \
    (void)kernel, (void)dims, (void)detail;                                                                         \
    for (int64_t i = begin; i < end; ++i) ((T*)data[2])[i] = (T)(((const T*)data[1])[i] * scalars[0].real);         \
    return PK_OK;                                                                                                   \
  }
SCALE_KERNELS(float)
SCALE_KERNELS(double)

static int32_t pair(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)scalars, (void)detail;
  const float *a = data[0], *b = data[1];
  float *sum = data[2], *product = data[3];
  for (int64_t i = begin; i < end; ++i) {
    sum[i] = a[i] + b[i];
    product[i] = a[i] * b[i];
  }
  return PK_OK;
}

static int32_t pair_backward(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)scalars, (void)detail;
  const float *a = data[0], *b = data[1], *ds = data[2], *dp = data[3];
  float *da = data[4], *db = data[5];
  for (int64_t i = begin; i < end; ++i) {
    da[i] = ds[i] + dp[i] * b[i];
    db[i] = ds[i] + dp[i] * a[i];
  }
  return PK_OK;
}

/* Every element of the first input moved one place to the front, the first to the end. */
static int32_t rotate(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)scalars, (void)begin, (void)detail;
  for (int64_t i = 0; i < end; ++i) ((float*)data[2])[i] = ((const float*)data[0])[(i + 1) % end];
  return PK_OK;
}

/* The state is added to the input, and in training the input to the state. */
static int32_t state(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)begin, (void)detail;
  for (int64_t i = 0; i < end; ++i) {
    const float x_i = ((const float*)data[0])[i];
    float* state_i = (float*)data[1] + i;
    ((float*)data[2])[i] = x_i + *state_i;
    if (scalars[0].integer) *state_i += x_i;
  }
  return PK_OK;
}

static int32_t constant(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)begin, (void)detail;
  for (int64_t i = 0; i < end; ++i) ((float*)data[1])[i] = scalars[0].integer ? 7 : 3;
  return PK_OK;
}

/* Where the piece begins that each element is in. A negative alpha makes every piece fail but the first. */
static int32_t pieces(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)detail;
  if (scalars[0].real < 0 && begin > 0) return PK_RAISED;
  for (int64_t i = begin; i < end; ++i) ((float*)data[1])[i] = (float)begin;
  return PK_OK;
}

#define JOIN_KERNEL(n)                                                                                              \
  static int32_t join_##n(KERNEL_ARGUMENTS) {                                                                       \
    (void)kernel, (void)dims, (void)scalars, (void)begin, (void)detail;                                             \
    memset(data[n], 0, end * sizeof(float));                                                                        \
    for (int k = 0; k < n; ++k) {                                                                                   \
      for (int64_t i = 0; i < end; ++i) ((float*)data[n])[i] += ((const float*)data[k])[i];                         \
    }                                                                                                               \
    return PK_OK;                                                                                                   \
  }
JOIN_KERNEL(1)
JOIN_KERNEL(2)
JOIN_KERNEL(3)

static int32_t zero(KERNEL_ARGUMENTS) {
  (void)kernel, (void)dims, (void)scalars, (void)begin, (void)detail;
  memset(data[1], 0, end);
  return PK_OK;
}

static const int32_t attribute_0[] = {0};
static const int32_t is_train[] = {PK_SCALAR_IS_TRAIN};

/* The kernel of an op for a dtype of its outputs, or NULL. */
const pk_kernel* native_kernel(const char* op, const pk_instance* use) {
  static const struct {
    const char* op;
    int32_t dtype, n_inputs;
    pk_kernel kernel;
  } known[] = {
      {"scale_forward", PK_FLOAT32, 1, {scale_float, PK_KERNEL_ELEMENTWISE, 1, attribute_0}},
      {"scale_forward", PK_FLOAT64, 1, {scale_double, PK_KERNEL_ELEMENTWISE, 1, attribute_0}},
      {"scale_backward", PK_FLOAT32, 2, {scale_backward_float, PK_KERNEL_ELEMENTWISE, 1, attribute_0}},
      {"scale_backward", PK_FLOAT64, 2, {scale_backward_double, PK_KERNEL_ELEMENTWISE, 1, attribute_0}},
      {"pair_forward", PK_FLOAT32, 2, {pair, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"pair_backward", PK_FLOAT32, 4, {pair_backward, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"fill_forward", PK_FLOAT32, 2, {rotate, 0, 0, attribute_0}},
      {"picky_forward", PK_FLOAT32, 2, {rotate, 0, 0, attribute_0}},
      {"constant_forward", PK_FLOAT32, 1, {constant, PK_KERNEL_ELEMENTWISE, 1, is_train}},
      {"pieces_forward", PK_FLOAT32, 1, {pieces, PK_KERNEL_ELEMENTWISE, 1, attribute_0}},
      {"bad_plan_forward", PK_FLOAT32, 1, {join_1, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"join_forward", PK_FLOAT32, 1, {join_1, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"join_forward", PK_FLOAT32, 2, {join_2, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"join_forward", PK_FLOAT32, 3, {join_3, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
      {"state_forward", PK_FLOAT32, 2, {state, 0, 1, is_train}},
      {"every_forward", PK_UINT8, 1, {zero, PK_KERNEL_ELEMENTWISE, 0, attribute_0}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    if (strcmp(op, known[i].op) == 0 && use->outputs[0].dtype == known[i].dtype &&
        use->n_inputs == known[i].n_inputs) {
      return &known[i].kernel;
    }
  }
  /* Its gradient needs no kernel, and can be tried in any dtype. */
  static const pk_kernel any = {zero, 0, 0, attribute_0};
  return strcmp(op, "join_forward") == 0 && use->n_inputs == 1 ? &any : NULL;
}
