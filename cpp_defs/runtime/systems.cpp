// Solves systems of linear equations, and computes determinants and Cholesky factors. LAPACK factors the matrices, as
// in NumPy; the solutions follow from the factors row by row, for all right-hand sides at once.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

extern "C" {
int numba_xxgemm(char kind, char transa, char transb, std::intptr_t m, std::intptr_t n, std::intptr_t k,
                 const void* alpha, const void* a, std::intptr_t lda, const void* b, std::intptr_t ldb,
                 const void* beta, void* c, std::intptr_t ldc);
std::int64_t pk_getrf_of(std::int64_t n, double* a, std::int64_t* pivots);
std::int64_t pk_potrf_of(std::int64_t n, double* a);
}

namespace {

// The most rows that are computed from each other in loops; between more, matrix products do most of the work.
constexpr int64_t kFew = 32;
typedef double Vector __attribute__((vector_size(32)));
// The vectors of a row that stay in registers.
constexpr int kVectors = 4;

// The lower factor, whose diagonal is 1, above which the upper one lies; columns are contiguous.
struct Factors {
  const double* data;
  int64_t step;

  const double& at(int64_t row, int64_t column) const { return data[row + column * step]; }
};

// Subtracts multiples of the rows from `begin` to `end` from part of a row, and divides that, if a divisor is given.
template <typename V, int kCount>
void Eliminate(const Factors& factors, double* sides, int64_t step, int64_t row, int64_t begin, int64_t end,
               const double* divisor) {
  constexpr int kLanes = sizeof(V) / sizeof(double);
  const auto at = [&](int64_t of, int i) { return sides + of * step + i * kLanes; };
  V sums[kCount];  // in registers, once these loops are unrolled
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) std::memcpy(&sums[i], at(row, i), sizeof(V));
  for (int64_t other = begin; other < end; ++other) {
    const double factor = factors.at(row, other);
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      V values;
      std::memcpy(&values, at(other, i), sizeof(V));
      sums[i] -= factor * values;
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    if (divisor != nullptr) sums[i] /= *divisor;
    std::memcpy(at(row, i), &sums[i], sizeof(V));
  }
}

// Solves few rows, in columns of a number of vectors, then of fewer, then one by one.
template <bool kIsLower, int kCount = kVectors>
void SolveFew(const Factors& factors, double* sides, int64_t step, int64_t rows, int64_t columns) {
  using V = std::conditional_t<kCount == 0, double, Vector>;
  constexpr int kTaken = std::max(kCount, 1);
  constexpr int64_t kWidth = kTaken * static_cast<int64_t>(sizeof(V) / sizeof(double));
  for (; columns >= kWidth; columns -= kWidth, sides += kWidth) {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t row = kIsLower ? i : rows - 1 - i;
      const double* const divisor = kIsLower ? nullptr : &factors.at(row, row);
      Eliminate<V, kTaken>(factors, sides, step, row, kIsLower ? 0 : row + 1, kIsLower ? row : rows, divisor);
    }
  }
  if constexpr (kCount > 0) SolveFew<kIsLower, kCount / 4>(factors, sides, step, rows, columns);
}

// Replaces right-hand sides by the solutions for the lower factor, or for the upper one.
template <bool kIsLower>
void Solve(const Factors& factors, double* sides, int64_t step, int64_t rows) {
  if (rows <= kFew) return SolveFew<kIsLower>(factors, sides, step, rows, step);
  const int64_t half = rows / 2;
  const Factors last{&factors.at(half, half), factors.step};
  const auto solve_first = [&] { Solve<kIsLower>(factors, sides, step, half); };
  const auto solve_last = [&] { Solve<kIsLower>(last, sides + half * step, step, rows - half); };
  // What is known of one half of the rows is subtracted from the other one.
  const auto subtract = [&](int64_t from, int64_t known, int64_t to) {
    const double one = 1, minus_one = -1;
    numba_xxgemm('d', 'n', 't', step, rows - known, known, &minus_one, sides + from * step, step,
                 &factors.at(to, from), factors.step, &one, sides + to * step, step);
  };
  if constexpr (kIsLower) {
    solve_first();
    subtract(0, half, half);
    solve_last();
  } else {
    solve_last();
    subtract(half, rows - half, 0);
    solve_first();
  }
}

}  // namespace

// Solves `count` systems of n equations for k right-hand sides each, which become the solutions. The columns of the
// matrices are contiguous, which become their factors, and the rows of the sides. Notes whether a matrix is singular.
// Returns 0 if the systems are too large.
extern "C" int pk_solve(double* matrices, double* sides, int64_t* pivots, bool* is_singular, int64_t count, int64_t n,
                        int64_t k) {
  if (std::max(n, k) > INT_MAX) return 0;
  for (int64_t i = 0; i < count; ++i, matrices += n * n, sides += n * k) {
    *is_singular |= pk_getrf_of(n, matrices, pivots) != 0;
    for (int64_t row = 0; row < n; ++row) {
      double* const swapped = sides + (pivots[row] - 1) * k;
      if (pivots[row] - 1 != row) std::swap_ranges(swapped, swapped + k, sides + row * k);
    }
    Solve<true>({matrices, n}, sides, k, n);
    Solve<false>({matrices, n}, sides, k, n);
  }
  return 1;
}

// Computes the signs of the determinants of `count` matrices, and the logarithms of their absolute values. The matrices
// become their factors. Returns 0 if they are too large.
extern "C" int pk_determinants(double* matrices, int64_t* pivots, double* signs, double* logarithms, int64_t count,
                               int64_t n) {
  if (n > INT_MAX) return 0;
  for (int64_t i = 0; i < count; ++i, matrices += n * n) {
    if (pk_getrf_of(n, matrices, pivots) != 0) {
      signs[i] = 0;
      logarithms[i] = -std::numeric_limits<double>::infinity();
      continue;
    }
    bool is_negative = false;
    double sum = 0;
    for (int64_t row = 0; row < n; ++row) {
      const double value = matrices[row * (n + 1)];
      is_negative ^= (pivots[row] - 1 != row) ^ (value < 0);
      sum += std::log(std::abs(value));
    }
    signs[i] = is_negative ? -1 : 1;
    logarithms[i] = sum;
  }
  return 1;
}

// Replaces `count` symmetric matrices, of which the lower triangles are read, by their lower Cholesky factors; rows are
// contiguous. Notes whether a matrix is not positive definite. Returns 0 if they are too large.
extern "C" int pk_cholesky(double* matrices, bool* is_indefinite, int64_t count, int64_t n) {
  if (n > INT_MAX) return 0;
  for (int64_t i = 0; i < count; ++i, matrices += n * n) {
    *is_indefinite |= pk_potrf_of(n, matrices) != 0;
    for (int64_t row = 0; row < n; ++row) std::fill(matrices + row * n + row + 1, matrices + (row + 1) * n, 0.0);
  }
  return 1;
}
