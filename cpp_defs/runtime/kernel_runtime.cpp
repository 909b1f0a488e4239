// The runtime of compiled kernels, linked into each of them: memory for temporary arrays, reshaping without a copy, and
// matrix products. It does not use Python.
//
// numba generates calls to functions with these names and layouts (numba/core/runtime/nrt.h, numba/_helperlib.c); their
// bodies here are our own.
#include <pykernels/blas.h>
#include <pykernels/kernel.h>

#include <sys/mman.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

// Lends the memory of an output to a kernel for the array that it will return, so that the array need not be copied.
//
// The array is recognized by its size and by the number of arrays of that size that the kernel allocates before it,
// which the previous call has shown. If a temporary array gets the memory instead, the returned array is copied.
struct Loan {
  static constexpr int kMost = 16;
  char* memory;
  std::size_t bytes;  // 0 if nothing is lent
  bool is_taken;
  int count;          // the number of arrays of that size allocated so far
  void* made[kMost];  // the first of these arrays

  // Returns the memory if it is meant for the array of this size that is being allocated.
  void* Take(std::size_t size, int wanted) {
    if (size != bytes || size == 0 || count != wanted || is_taken) return nullptr;
    is_taken = true;
    return memory;
  }
  void Note(std::size_t size, void* data) {
    if (size != bytes || size == 0) return;
    if (count < kMost) made[count] = data;
    ++count;
  }
  // Returns the position of the returned array among the arrays of that size; -1 if it is not among them.
  int Find(const void* data) const {
    for (int i = (count < kMost ? count : kMost) - 1; i >= 0; --i) {
      if (made[i] == data) return i;
    }
    return -1;
  }
};
thread_local Loan loan;
std::atomic<int> g_wanted{0};

void EndLoan(void* /*data*/, std::size_t /*size*/, void* /*info*/) { loan.is_taken = false; }

using Destructor = void (*)(void* data, std::size_t size, void* info);

// A reference-counted block. Compiled code changes `references` itself, atomically, and calls
// NRT_MemInfo_call_dtor when it falls to zero.
struct MemInfo {
  std::size_t references;
  Destructor destructor;
  void* destructor_info;
  void* data;
  std::size_t size;
  void* external_allocator;
};

constexpr std::size_t kFewestHuge = std::size_t{1} << 22;

MemInfo* Allocate(std::size_t size, std::size_t alignment) {
  if (void* const lent = loan.Take(size, g_wanted.load(std::memory_order_relaxed))) {
    auto* const info = static_cast<MemInfo*>(std::malloc(sizeof(MemInfo)));
    if (info == nullptr) return nullptr;
    loan.Note(size, lent);
    *info = {1, EndLoan, nullptr, lent, size, nullptr};
    return info;
  }
  const std::size_t total = sizeof(MemInfo) + size + alignment;
  auto* base = static_cast<char*>(std::malloc(total));
  if (base == nullptr) return nullptr;
#ifdef MADV_HUGEPAGE
  if (total >= kFewestHuge) {
    // Request huge pages, as NumPy does: the memory is new to the process, and the system then provides it in larger
    // pages.
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(base) + 4095) & ~std::uintptr_t{4095};
    madvise(reinterpret_cast<void*>(begin), total - 4096, MADV_HUGEPAGE);
  }
#endif
  auto address = reinterpret_cast<std::uintptr_t>(base + sizeof(MemInfo));
  if (alignment != 0) address = (address + alignment - 1) & ~std::uintptr_t{alignment - 1};  // a power of two
  loan.Note(size, reinterpret_cast<void*>(address));
  auto* info = reinterpret_cast<MemInfo*>(base);
  *info = {1, nullptr, nullptr, reinterpret_cast<void*>(address), size, nullptr};
  return info;
}

// Frees a growable block, whose data is a separate allocation.
void FreeGrowable(void* data, std::size_t size, void* info) {
  if (info != nullptr) reinterpret_cast<Destructor>(info)(data, size, nullptr);
  std::free(data);
}

}  // namespace

extern "C" {

// Per-thread memory for small arrays. Kernels stack blocks in it (kernel/numba/llvm_ir/counting.py) and set only the
// count and the address of their MemInfo. The memory is free again when all blocks are free.
struct Arena {
  alignas(64) char memory[4096];
  std::size_t used;
  std::size_t blocks;
};
thread_local Arena arena_of_thread;

Arena* pk_arena_of_thread() { return &arena_of_thread; }

void* NRT_Allocate(std::size_t size) { return std::malloc(size); }
void* NRT_Reallocate(void* data, std::size_t size) { return std::realloc(data, size); }
void NRT_Free(void* data) { std::free(data); }

MemInfo* NRT_MemInfo_alloc(std::size_t size) { return Allocate(size, 0); }
MemInfo* NRT_MemInfo_alloc_safe(std::size_t size) { return Allocate(size, 0); }
MemInfo* NRT_MemInfo_alloc_aligned(std::size_t size, unsigned alignment) { return Allocate(size, alignment); }
MemInfo* NRT_MemInfo_alloc_safe_aligned(std::size_t size, unsigned alignment) { return Allocate(size, alignment); }

MemInfo* NRT_MemInfo_alloc_dtor_safe(std::size_t size, Destructor destructor) {
  MemInfo* info = Allocate(size, 0);
  if (info != nullptr) info->destructor = destructor;
  return info;
}

MemInfo* NRT_MemInfo_new(void* data, std::size_t size, Destructor destructor, void* destructor_info) {
  auto* info = static_cast<MemInfo*>(std::malloc(sizeof(MemInfo)));
  if (info != nullptr) *info = {1, destructor, destructor_info, data, size, nullptr};
  return info;
}

MemInfo* NRT_MemInfo_new_varsize_dtor(std::size_t size, Destructor destructor) {
  void* data = std::malloc(size != 0 ? size : 1);
  if (data == nullptr) return nullptr;
  return NRT_MemInfo_new(data, size, FreeGrowable, reinterpret_cast<void*>(destructor));
}

MemInfo* NRT_MemInfo_new_varsize(std::size_t size) { return NRT_MemInfo_new_varsize_dtor(size, nullptr); }

void* NRT_MemInfo_varsize_alloc(MemInfo* info, std::size_t size) {
  info->data = std::malloc(size);
  info->size = info->data != nullptr ? size : 0;
  return info->data;
}

void NRT_MemInfo_varsize_free(MemInfo* info, void* data) {
  std::free(data);
  if (data == info->data) info->data = nullptr;
}

void* NRT_MemInfo_varsize_realloc(MemInfo* info, std::size_t size) {
  void* data = std::realloc(info->data, size);
  if (data == nullptr) return nullptr;
  info->data = data;
  info->size = size;
  return data;
}

void NRT_MemInfo_call_dtor(MemInfo* info) {
  Arena& arena = arena_of_thread;
  if (reinterpret_cast<std::uintptr_t>(info) - reinterpret_cast<std::uintptr_t>(arena.memory) < sizeof arena.memory) {
    if (--arena.blocks == 0) arena.used = 0;
    return;
  }
  if (info->destructor != nullptr) info->destructor(info->data, info->size, info->destructor_info);
  std::free(info);
}

void* NRT_MemInfo_data_fast(MemInfo* info) { return info->data; }

// Lends memory for the array that will be returned. The loan ends when the kernel returns an array or fails.
void pk_lend(char* memory, std::int64_t bytes) { loan = {memory, static_cast<std::size_t>(bytes), false, 0, {}}; }
void pk_take_back() { loan.bytes = 0; }
void pk_end_loan(const void* returned) {
  const int number = loan.bytes != 0 ? loan.Find(returned) : -1;
  if (number >= 0) g_wanted.store(number, std::memory_order_relaxed);
  pk_take_back();
}

// Computes strides for `new_dims` over the memory of an array; returns 0 if only a copy can have that shape. Axes of
// length one do not matter. Runs of the other axes are matched by their number of elements, and each run of the old
// axes must be contiguous in memory.
int numba_attempt_nocopy_reshape(std::intptr_t ndim, const std::intptr_t* dims, const std::intptr_t* strides,
                                 std::intptr_t new_ndim, const std::intptr_t* new_dims, std::intptr_t* new_strides,
                                 std::intptr_t item_size, int /*fortran_order*/) {
  std::intptr_t total = 1;
  for (std::intptr_t axis = 0; axis < ndim; ++axis) total *= dims[axis];
  if (total == 0) {
    for (std::intptr_t axis = 0; axis < new_ndim; ++axis) new_strides[axis] = item_size;
    return 1;
  }
  std::intptr_t old_axis = ndim - 1;
  std::intptr_t new_axis = new_ndim - 1;
  while (new_axis >= 0) {
    if (new_dims[new_axis] == 1) {
      new_strides[new_axis--] = item_size;
      continue;
    }
    while (old_axis >= 0 && dims[old_axis] == 1) --old_axis;
    if (old_axis < 0) return 0;
    std::intptr_t stride = strides[old_axis];
    std::intptr_t old_count = dims[old_axis];
    std::intptr_t new_count = new_dims[new_axis];
    std::intptr_t next = stride * dims[old_axis];
    new_strides[new_axis--] = stride;
    stride *= new_count;
    while (old_count != new_count) {
      if (new_count < old_count) {
        if (new_axis < 0) return 0;
        new_strides[new_axis] = stride;
        stride *= new_dims[new_axis];
        new_count *= new_dims[new_axis--];
      } else {
        do { --old_axis; } while (old_axis >= 0 && dims[old_axis] == 1);
        if (old_axis < 0 || strides[old_axis] != next) return 0;
        old_count *= dims[old_axis];
        next *= dims[old_axis];
      }
    }
    --old_axis;
  }
  return 1;
}

// ---- BLAS: from the library that the loader provides, or from the library that contains this code.

static pk_blas handed_over;
static const pk_blas* blas = &pk_library_blas;

// The plain NumPy run, to which large arrays are passed where it has proved faster.
static pk_kernel_fn plain;
static int32_t n_tensors;
static int64_t fewest_elements;

__attribute__((visibility("default"))) void pk_kernel_hand_over(pk_kernel_fn to, int32_t tensors, int64_t elements) {
  plain = to;
  n_tensors = tensors;
  fewest_elements = elements;
}

int32_t pk_kernel_run(const pk_kernel* kernel, void* const* data, const int64_t* dims, const pk_scalar* scalars,
                      int64_t begin, int64_t end, int64_t* detail);

__attribute__((visibility("default"))) int32_t pk_kernel_run_small(const pk_kernel* kernel, void* const* data,
                                                                   const int64_t* dims, const pk_scalar* scalars,
                                                                   int64_t begin, int64_t end, int64_t* detail) {
  const int64_t* length = dims;
  bool is_large = false;
  for (int32_t i = 0; i < n_tensors; ++i) {
    int64_t elements = 1;
    for (int32_t axis = 0; axis < kernel->ranks[i]; ++axis) elements *= *length++;
    is_large |= elements >= fewest_elements;
  }
  return (is_large ? plain : pk_kernel_run)(kernel, data, dims, scalars, begin, end, detail);
}

__attribute__((visibility("default"))) void pk_kernel_set_blas(const pk_blas* functions) {
  handed_over = *functions;
  blas = &handed_over;
}

static pk_integer AtLeastOne(std::int64_t n) { return n > 0 ? n : 1; }

// Products of complex vectors are computed as those of matrices.
static bool IsComplex(char kind) { return kind == 'c' || kind == 'z'; }

int numba_xxgemm(char kind, char transa, char transb, std::intptr_t m, std::intptr_t n, std::intptr_t k,
                 const void* alpha, const void* a, std::intptr_t lda, const void* b, std::intptr_t ldb,
                 const void* beta, void* c, std::intptr_t ldc) {
  if (m == 0 || n == 0) return 0;
  const pk_integer rows = m, columns = n, inner = k;
  const pk_integer stride_a = AtLeastOne(lda), stride_b = AtLeastOne(ldb), stride_c = AtLeastOne(ldc);
  const pk_gemm gemm = kind == 's'   ? blas->sgemm
                       : kind == 'd' ? blas->dgemm
                       : kind == 'c' ? blas->cgemm
                                     : blas->zgemm;
  gemm(&transa, &transb, &rows, &columns, &inner, alpha, a, &stride_a, b, &stride_b, beta, c, &stride_c);
  return 0;
}

int numba_xxgemv(char kind, char trans, std::intptr_t m, std::intptr_t n, const void* alpha, const void* a,
                 std::intptr_t lda, const void* x, const void* beta, void* y) {
  const std::intptr_t length = trans == 'n' ? m : n;
  if (length == 0) return 0;
  if (m == 0 || n == 0) {  // an empty sum, which gemv does not write
    const std::size_t item = kind == 's' ? 4 : kind == 'z' ? 16 : 8;
    std::memset(y, 0, static_cast<std::size_t>(length) * item);
    return 0;
  }
  if (IsComplex(kind)) {
    const std::intptr_t inner = trans == 'n' ? n : m;
    return numba_xxgemm(kind, trans, 'n', length, 1, inner, alpha, a, lda, x, inner, beta, y, length);
  }
  const pk_integer rows = m, columns = n, stride = AtLeastOne(lda), one = 1;
  const pk_gemv gemv = kind == 's' ? blas->sgemv : blas->dgemv;
  gemv(&trans, &rows, &columns, alpha, a, &stride, x, &one, beta, y, &one);
  return 0;
}

int numba_xxdot(char kind, char conjugate, std::intptr_t n, const void* x, const void* y, void* result) {
  if (IsComplex(kind)) {
    const float one[] = {1, 0}, zero[] = {0, 0};
    const double wide_one[] = {1, 0}, wide_zero[] = {0, 0};
    const void *factor = kind == 'c' ? static_cast<const void*>(one) : wide_one,
               *kept = kind == 'c' ? static_cast<const void*>(zero) : wide_zero;
    return numba_xxgemm(kind, conjugate ? 'c' : 't', 'n', 1, 1, n, factor, x, n, y, n, kept, result, 1);
  }
  const pk_integer length = n, one = 1;
  if (kind == 's') {
    *static_cast<float*>(result) = blas->sdot(&length, x, &one, y, &one);
  } else {
    *static_cast<double*>(result) = blas->ddot(&length, x, &one, y, &one);
  }
  return 0;
}

// numba calls these functions of C by names of its own.
double numba_nextafter(double x, double to) { return __builtin_nextafter(x, to); }
float numba_nextafterf(float x, float to) { return __builtin_nextafterf(x, to); }
double numba_ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }
float numba_ldexpf(float x, int exponent) { return __builtin_ldexpf(x, exponent); }

// Powers of complex numbers, as NumPy computes them: whole exponents by products, which keep zeros exact.
void numba_cpow(const double _Complex* base, const double _Complex* exponent, double _Complex* result) {
  const double power = __real__ *exponent, most = 100;
  const bool is_whole = __imag__ *exponent == 0 && power >= -most && power <= most && power == __builtin_trunc(power);
  if (*base == 0.0 && power != 0) {
    const double value = power > 0 && __imag__ *exponent == 0 ? 0 : __builtin_nan("");
    __real__ *result = __imag__ *result = value;
    return;
  }
  if (!is_whole) {
    *result = __builtin_cpow(*base, *exponent);
    return;
  }
  double _Complex product = 1, factor = *base;
  for (int rest = std::abs(static_cast<int>(power)); rest; rest >>= 1, factor *= factor) {
    if (rest & 1) product *= factor;
  }
  *result = power < 0 ? 1.0 / product : product;
}

void numba_cpowf(const float _Complex* base, const float _Complex* exponent, float _Complex* result) {
  const double _Complex wide_base = *base, wide_exponent = *exponent;
  double _Complex wide;
  numba_cpow(&wide_base, &wide_exponent, &wide);
  *result = wide;
}

// Computes a triangle of the product of a matrix and its transpose.
void pk_syrk_of(char kind, char triangle, char form, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                std::int64_t step, const void* beta, void* c, std::int64_t c_step) {
  const pk_integer stride_a = AtLeastOne(step), stride_c = AtLeastOne(c_step);
  const pk_syrk syrk = kind == 's' ? blas->ssyrk : blas->dsyrk;
  syrk(&triangle, &form, &n, &k, alpha, a, &stride_a, beta, c, &stride_c);
}

// Factors a square matrix of float64, and returns 0; the number of a pivot that is 0 if the matrix is singular.
pk_integer pk_getrf_of(std::int64_t n, double* a, std::int64_t* pivots) {
  const pk_integer stride = AtLeastOne(n);
  pk_integer info = 0;
  blas->dgetrf(&n, &n, a, &stride, pivots, &info);
  for (std::int64_t i = n - 1; i >= 0 && blas->integer_bytes == sizeof(std::int32_t); --i) {
    std::int32_t pivot;
    std::memcpy(&pivot, reinterpret_cast<char*>(pivots) + i * sizeof pivot, sizeof pivot);
    pivots[i] = pivot;
  }
  return info;
}

// Replaces the upper triangle of a symmetric matrix of float64 with contiguous columns by its Cholesky factor, and
// returns 0; another number if the matrix is not positive definite.
pk_integer pk_potrf_of(std::int64_t n, double* a) {
  const pk_integer stride = AtLeastOne(n);
  pk_integer info = 0;
  blas->dpotrf("U", &n, a, &stride, &info);
  return info;
}

// Compiled code calls these only to report errors: of a function above, which has none to report, or a failure to pass
// an exception's details to Python. The status shows that there was an exception; the plain NumPy run gives details.
void* PyExc_RuntimeError;
void PyErr_SetString(void* /*type*/, const char* /*message*/) {}
void numba_gil_ensure(void* /*state*/) {}
void Py_FatalError(const char* /*message*/) { std::abort(); }

}  // extern "C"
