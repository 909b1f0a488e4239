// The matrix products of kernels in a library that needs no BLAS, and the factors of matrices: Fortran's calling
// convention, on one thread.
//
// Products are computed in tiles of kRows times two vectors, which stay in registers, from copies of blocks of both
// matrices in the order in which the tiles read them (Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008).
#include <pykernels/blas.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>

namespace {

// The vectors that the target processor can multiply and add at once.
#ifdef __AVX512F__
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

using Index = std::ptrdiff_t;

template <typename T>
struct Vector;
template <>
struct Vector<float> {
  using Type = float __attribute__((vector_size(kVectorBytes)));
};
template <>
struct Vector<double> {
  using Type = double __attribute__((vector_size(kVectorBytes)));
};
template <typename T>
constexpr Index kLanes = kVectorBytes / sizeof(T);

// The rows of a tile, and blocks whose copies fit in a processor's caches.
constexpr Index kRows = 6;
template <typename T>
constexpr Index kColumns = 2 * kLanes<T>;
constexpr Index kMostRows = 16 * kRows, kMostColumns = 2048, kMostInner = 256;

template <typename T>
struct Matrix {
  const T* data;
  Index row, column;  // steps
  const T& at(Index i, Index j) const { return data[i * row + j * column]; }
};

// Computes A[kRows, inner] times B[inner, kColumns]; both are copies.
template <typename T>
void Tile(Index inner, const T* a, const T* b, T* tile) {
  using V = typename Vector<T>::Type;
  V sums[kRows][2] = {};
  for (Index p = 0; p < inner; ++p, a += kRows, b += kColumns<T>) {
    V left, right;
    __builtin_memcpy(&left, b, sizeof left);
    __builtin_memcpy(&right, b + kLanes<T>, sizeof right);
#pragma GCC unroll 6
    for (Index i = 0; i < kRows; ++i) {
      sums[i][0] += a[i] * left;
      sums[i][1] += a[i] * right;
    }
  }
  __builtin_memcpy(tile, sums, sizeof sums);
}

// Copies `count` rows or columns in groups of `width`; in a group, the elements of one step along the inner axis are
// contiguous. The last group is padded with zeros.
template <typename T>
void CopyGroups(const T* data, Index step, Index inner_step, Index count, Index inner, Index width, T* to) {
  for (Index begin = 0; begin < count; begin += width) {
    const Index n = std::min(width, count - begin);
    for (Index p = 0; p < inner; ++p, to += width) {
      const T* from = data + begin * step + p * inner_step;
      for (Index i = 0; i < n; ++i) to[i] = from[i * step];
      std::fill(to + n, to + width, T(0));
    }
  }
}

Index RoundUp(Index n, Index multiple) { return (n + multiple - 1) / multiple * multiple; }

// Computes C = alpha A B + beta C for C[m, n] with contiguous rows.
template <typename T>
void MultiplyRows(Index m, Index n, Index k, T alpha, Matrix<T> a, Matrix<T> b, T beta, T* c, Index c_row) {
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) c[i * c_row + j] = beta == T(0) ? T(0) : beta * c[i * c_row + j];
  }
  const Index inner = std::min(k, kMostInner);
  const Index a_size = RoundUp(std::min(m, kMostRows), kRows) * inner;
  const Index b_size = RoundUp(std::min(n, kMostColumns), kColumns<T>) * inner;
  auto* copies = static_cast<T*>(std::malloc((a_size + b_size) * sizeof(T)));
  if (copies == nullptr) {
    for (Index i = 0; i < m; ++i) {
      for (Index p = 0; p < k; ++p) {
        for (Index j = 0; j < n; ++j) c[i * c_row + j] += alpha * a.at(i, p) * b.at(p, j);
      }
    }
    return;
  }
  T* a_copy = copies;
  T* b_copy = copies + a_size;
  T tile[kRows * kColumns<T>];
  for (Index j0 = 0; j0 < n; j0 += kMostColumns) {
    const Index columns = std::min(kMostColumns, n - j0);
    for (Index p0 = 0; p0 < k; p0 += kMostInner) {
      const Index depth = std::min(kMostInner, k - p0);
      CopyGroups(&b.at(p0, j0), b.column, b.row, columns, depth, kColumns<T>, b_copy);
      for (Index i0 = 0; i0 < m; i0 += kMostRows) {
        const Index rows = std::min(kMostRows, m - i0);
        CopyGroups(&a.at(i0, p0), a.row, a.column, rows, depth, kRows, a_copy);
        for (Index j = 0; j < columns; j += kColumns<T>) {
          for (Index i = 0; i < rows; i += kRows) {
            Tile(depth, a_copy + i * depth, b_copy + j * depth, tile);
            T* to = c + (i0 + i) * c_row + j0 + j;
            const Index width = std::min(kColumns<T>, columns - j);
            for (Index row = 0; row < std::min(kRows, rows - i); ++row) {
              for (Index column = 0; column < width; ++column) {
                to[row * c_row + column] += alpha * tile[row * kColumns<T> + column];
              }
            }
          }
        }
      }
    }
  }
  std::free(copies);
}

// Computes a product of op(A)[rows, inner] and op(B)[inner, columns] in Fortran's layout, with contiguous columns.
template <typename T>
void Gemm(const char* a_form, const char* b_form, const pk_integer* rows, const pk_integer* columns,
          const pk_integer* inner, const void* alpha, const void* a, const pk_integer* a_step, const void* b,
          const pk_integer* b_step, const void* beta, void* c, const pk_integer* c_step) {
  const auto transposed = [](const char* form) { return *form != 'n' && *form != 'N'; };
  // The rows of the product are not contiguous, but those of its transpose are, so compute the transpose.
  const auto matrix = [](const void* data, Index step, bool is_transposed) {
    return Matrix<T>{static_cast<const T*>(data), is_transposed ? 1 : step, is_transposed ? step : 1};
  };
  MultiplyRows<T>(*columns, *rows, *inner, *static_cast<const T*>(alpha), matrix(b, *b_step, transposed(b_form)),
                  matrix(a, *a_step, transposed(a_form)), *static_cast<const T*>(beta), static_cast<T*>(c), *c_step);
}

// Returns a sum of products, computed as several partial sums that vectors hold.
template <typename T>
T Dot(Index n, const T* x, Index x_step, const T* y, Index y_step) {
  constexpr Index width = kColumns<T>;
  T sums[width] = {};
  Index i = 0;
  if (x_step == 1 && y_step == 1) {
    for (; i + width <= n; i += width) {
      for (Index lane = 0; lane < width; ++lane) sums[lane] += x[i + lane] * y[i + lane];
    }
  }
  T sum = 0;
  for (Index lane = 0; lane < width; ++lane) sum += sums[lane];
  for (; i < n; ++i) sum += x[i * x_step] * y[i * y_step];
  return sum;
}

template <typename T>
void Gemv(const char* form, const pk_integer* rows, const pk_integer* columns, const void* alpha, const void* a,
          const pk_integer* a_step, const void* x, const pk_integer* x_step, const void* beta, void* y,
          const pk_integer* y_step) {
  const T *matrix = static_cast<const T*>(a), *from = static_cast<const T*>(x);
  const T factor = *static_cast<const T*>(alpha), kept = *static_cast<const T*>(beta);
  T* to = static_cast<T*>(y);
  const bool is_plain = *form == 'n' || *form == 'N';
  for (Index i = 0; i < (is_plain ? *rows : *columns); ++i) {
    T& result = to[i * *y_step];
    result = kept == T(0) ? T(0) : kept * result;
    if (!is_plain) result += factor * Dot<T>(*rows, matrix + i * *a_step, 1, from, *x_step);
  }
  for (Index j = 0; is_plain && j < *columns; ++j) {
    const T value = factor * from[j * *x_step];
    for (Index i = 0; i < *rows; ++i) to[i * *y_step] += value * matrix[j * *a_step + i];
  }
}

// Computes a product of complex matrices, element by element, for products that are rare.
template <typename T>
void ComplexGemm(const char* form_a, const char* form_b, const pk_integer* rows, const pk_integer* columns,
                 const pk_integer* inner, const void* alpha, const void* a, const pk_integer* a_step, const void* b,
                 const pk_integer* b_step, const void* beta, void* c, const pk_integer* c_step) {
  using Number = std::complex<T>;
  const auto element = [](const char* form, const void* matrix, Index step, Index i, Index j) {
    const bool is_plain = *form == 'n' || *form == 'N', is_conjugate = *form == 'c' || *form == 'C';
    const Number value = static_cast<const Number*>(matrix)[is_plain ? i + j * step : j + i * step];
    return is_conjugate ? std::conj(value) : value;
  };
  const Number factor = *static_cast<const Number*>(alpha), kept = *static_cast<const Number*>(beta);
  for (Index i = 0; i < *rows; ++i) {
    for (Index j = 0; j < *columns; ++j) {
      Number sum = 0;
      for (Index k = 0; k < *inner; ++k) sum += element(form_a, a, *a_step, i, k) * element(form_b, b, *b_step, k, j);
      Number& result = static_cast<Number*>(c)[i + j * *c_step];
      result = factor * sum + (kept == Number(0) ? Number(0) : kept * result);
    }
  }
}

template <typename T>
T DotProduct(const pk_integer* n, const void* x, const pk_integer* x_step, const void* y, const pk_integer* y_step) {
  return Dot<T>(*n, static_cast<const T*>(x), *x_step, static_cast<const T*>(y), *y_step);
}

// Computes the product of a matrix and its transpose, of which callers need a triangle.
template <typename T>
void Syrk(const char* /*triangle*/, const char* form, const pk_integer* n, const pk_integer* inner, const void* alpha,
          const void* a, const pk_integer* a_step, const void* beta, void* c, const pk_integer* c_step) {
  const bool is_plain = *form == 'n' || *form == 'N';
  Gemm<T>(is_plain ? "n" : "t", is_plain ? "t" : "n", n, n, inner, alpha, a, a_step, a, a_step, beta, c, c_step);
}

// Factors a matrix with contiguous columns, and notes by which row each one was replaced, counted from 1.
void Getrf(const pk_integer* rows, const pk_integer* columns, void* a, const pk_integer* a_step, void* pivots,
           pk_integer* info) {
  *info = 0;
  const auto column = [&](Index j) { return static_cast<double*>(a) + j * *a_step; };
  for (Index k = 0; k < std::min(*rows, *columns); ++k) {
    double* const pivot_column = column(k);
    const auto is_less = [](double x, double y) { return std::abs(x) < std::abs(y); };
    const Index pivot = std::max_element(pivot_column + k, pivot_column + *rows, is_less) - pivot_column;
    static_cast<pk_integer*>(pivots)[k] = pivot + 1;
    if (pivot_column[pivot] == 0) {
      if (*info == 0) *info = k + 1;
      continue;
    }
    for (Index j = 0; j < *columns; ++j) std::swap(column(j)[k], column(j)[pivot]);
    for (Index i = k + 1; i < *rows; ++i) pivot_column[i] /= pivot_column[k];
    for (Index j = k + 1; j < *columns; ++j) {
      const double factor = column(j)[k];
      for (Index i = k + 1; i < *rows; ++i) column(j)[i] -= pivot_column[i] * factor;
    }
  }
}

// Replaces the upper triangle of a symmetric matrix with contiguous columns by its Cholesky factor.
void Potrf(const char* /*triangle*/, const pk_integer* n, void* a, const pk_integer* a_step, pk_integer* info) {
  *info = 0;
  const auto column = [&](Index j) { return static_cast<double*>(a) + j * *a_step; };
  for (Index j = 0; j < *n; ++j) {
    for (Index i = 0; i <= j; ++i) {
      const double rest = column(j)[i] - Dot<double>(i, column(i), 1, column(j), 1);
      if (i < j) {
        column(j)[i] = rest / column(i)[i];
      } else if (rest > 0) {
        column(j)[j] = std::sqrt(rest);
      } else {
        *info = j + 1;
        return;
      }
    }
  }
}

}  // namespace

extern "C" const pk_blas pk_library_blas = {
    Gemm<float>,       Gemm<double>,       ComplexGemm<float>, ComplexGemm<double>, Gemv<float>, Gemv<double>,
    DotProduct<float>, DotProduct<double>, Syrk<float>,        Syrk<double>,        Getrf,       Potrf,
    sizeof(pk_integer)};
