// Contracts arrays with any strides: matrix products, inner and outer products, sums, of all dtypes. Large products of
// floating-point numbers are matrix products of BLAS, if necessary of copies. It is compiled for one dtype at a time:
// `PK_TYPE` is its C++ type, and `PK_TYPED` makes the name of the function for it.
#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "contraction/axes.h"
#include "contraction/loops.h"

extern "C" {
int pk_copy(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides, const int64_t* lengths,
            int axes, int64_t item);
int numba_xxgemm(char kind, char transa, char transb, std::intptr_t m, std::intptr_t n, std::intptr_t k,
                 const void* alpha, const void* a, std::intptr_t lda, const void* b, std::intptr_t ldb,
                 const void* beta, void* c, std::intptr_t ldc);
int numba_xxgemv(char kind, char trans, std::intptr_t m, std::intptr_t n, const void* alpha, const void* a,
                 std::intptr_t lda, const void* x, const void* beta, void* y);
void pk_syrk_of(char kind, char triangle, char form, std::int64_t n, std::int64_t k, const void* alpha, const void* a,
                std::int64_t step, const void* beta, void* c, std::int64_t c_step);
}

namespace {

using contraction::Axes;
using contraction::Axis;
using contraction::Flags;
using contraction::kMaxAxes;
using contraction::Loops;
using contraction::Numbers;
using contraction::Places;

// Products of fewer multiplications take longer in BLAS than in loops.
constexpr double kFewest = 256;
// A matrix times its transpose takes less time as half a product from this number of multiplications on.
constexpr double kFewestForHalf = 1 << 20;
// The most bytes of rows that are computed in one go, if other axes lie within them, and the fewest such rows.
constexpr int64_t kInCache = 1 << 18, kFewestRows = 16;
// A copy pays off if each of its elements is used this often.
constexpr int64_t kOften = 8;

// A matrix in memory, with steps in bytes: BLAS takes one whose rows or columns are contiguous.
struct Matrix {
  int64_t step = 0;  // in elements, from one row or column to the next; 0 if BLAS cannot take it
  bool is_turned = false;

  Matrix(int64_t rows, int64_t row_step, int64_t columns, int64_t column_step, int64_t item) {
    const auto fits = [&](int64_t major, int64_t minor, int64_t length) {
      return minor == item && major >= length * item && major % item == 0 && major / item <= INT_MAX;
    };
    if (columns == 1) column_step = row_step == item ? rows * item : item;
    if (fits(row_step, column_step, columns)) {
      step = row_step / item;
    } else if (fits(column_step, row_step, rows)) {
      step = column_step / item;
      is_turned = true;
    }
  }
};

// Memory for a copy of an array, contiguous in the order of the axes.
class Copy {
 public:
  // Changes the strides of the axes to those of the copy.
  Copy(Axes& axes, int64_t Axis::*stride, int64_t item) : item_(item) {
    int64_t bytes = item;
    for (int at = axes.n - 1; at >= 0; --at) {
      Axis& axis = axes.list[at];
      if (axis.*stride == 0) continue;
      lengths_[n_] = axis.length;
      others_[n_] = axis.*stride;
      own_[n_++] = axis.*stride = bytes;
      bytes *= axis.length;
    }
    memory_ = static_cast<char*>(std::malloc(static_cast<std::size_t>(bytes)));
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() { std::free(memory_); }

  char* memory() const { return memory_; }
  bool Read(const char* from) const {
    return memory_ != nullptr && pk_copy(memory_, own_, from, others_, lengths_, n_, item_) != 0;
  }
  bool Write(char* to) const { return pk_copy(to, others_, memory_, own_, lengths_, n_, item_) != 0; }

 private:
  int n_ = 0;
  int64_t item_;
  int64_t lengths_[kMaxAxes], others_[kMaxAxes], own_[kMaxAxes];
  char* memory_;
};

enum class Outcome { kDone, kNoMemory, kNotForBlas };

template <typename T>
struct Products {
  static constexpr int64_t kItem = sizeof(T);
  static constexpr char kKind = sizeof(T) == 4 ? 's' : 'd';

  // Returns the longest axis that only one operand has; if possible, one that forms a matrix with the summed axis.
  static Axis* Pick(Axes& axes, int64_t Axis::*own, int64_t Axis::*other, const Axis& sum) {
    const auto rank = [&](const Axis& axis) {
      const bool fits = Matrix(axis.length, axis.*own, sum.length, sum.*own, kItem).step != 0;
      return std::pair<bool, int64_t>(fits, axis.length);
    };
    Axis* best = nullptr;
    for (Axis& axis : axes) {
      if (axis.is_summed || axis.*own == 0 || axis.*other != 0) continue;
      if (best == nullptr || rank(*best) <= rank(axis)) best = &axis;
    }
    return best;
  }

  static void Turn(Places& places, Axes& axes) {
    std::swap(places.a, places.b);
    for (Axis& axis : axes) std::swap(axis.a, axis.b);
  }

  // Computes a contraction of simplified axes as matrix products, one for each index of the axes other than the rows,
  // which only a has, the columns, which only b has, and the summed axis.
  static Outcome Run(Places places, Axes axes) {
    int sums = 0;
    Axis sum{1, 0, 0, 0, true};
    for (const Axis& axis : axes) {
      if (!axis.is_summed) continue;
      if (axis.a == 0 || axis.b == 0) return Outcome::kNotForBlas;
      ++sums;
      sum = {sum.length * axis.length, 0, axis.a, axis.b, true};
    }
    Axis *row = Pick(axes, &Axis::a, &Axis::b, sum), *column = Pick(axes, &Axis::b, &Axis::a, sum);
    if (sums == 0 || (row == nullptr && column == nullptr)) return Outcome::kNotForBlas;
    if (row == nullptr || (column != nullptr && column->out != kItem && row->out == kItem)) {
      Turn(places, axes);
      std::swap(row, column);
      std::swap(sum.a, sum.b);
    }
    const int64_t m = row->length, n = column != nullptr ? column->length : 1, k = sum.length;
    const int64_t out_step = row->out / kItem;
    const double multiplications = static_cast<double>(m) * n * k;
    if (multiplications < kFewest || std::max({m, n, k, out_step}) > INT_MAX) return Outcome::kNotForBlas;
    const Matrix a(m, row->a, k, sum.a, kItem), b(k, sum.b, n, column != nullptr ? column->b : 0, kItem);
    const bool copies_a = sums > 1 || a.step == 0, copies_b = sums > 1 || b.step == 0;
    if ((copies_a && n < kOften) || (copies_b && m < kOften)) return Outcome::kNotForBlas;
    if (copies_a) return RunWithCopy(places, axes, &Axis::a, &Places::a, sums > 1);
    if (copies_b) return RunWithCopy(places, axes, &Axis::b, &Places::b, false);
    Axes others;
    for (Axis& axis : axes) {
      if (!axis.is_summed && &axis != row && &axis != column) others.Add(axis);
    }
    if (column != nullptr && (column->out != kItem || row->out < n * kItem)) {
      Axes turned = others;
      for (const Axis* axis : {row, column}) turned.Add(*axis);
      turned.Add(sum);
      return RunApart(places, turned);
    }
    const T one = 1, zero = 0;
    const bool is_vector = column == nullptr && sum.b == kItem && row->out == kItem;
    const bool is_half = multiplications >= kFewestForHalf && column != nullptr && m == n && row->a == column->b &&
                         sum.a == sum.b;
    const auto multiply = [&](const Places& at, int64_t rows) {
      if (is_vector) {
        numba_xxgemv(kKind, a.is_turned ? 'n' : 't', a.is_turned ? m : k, a.is_turned ? k : m, &one, at.a, a.step, at.b,
                     &zero, at.out);
      } else if (is_half && at.a == at.b) {
        // A matrix times its transpose is symmetric: half of it is the other half.
        pk_syrk_of(kKind, 'l', a.is_turned ? 'n' : 't', n, k, &one, at.a, a.step, &zero, at.out, out_step);
        Mirror(reinterpret_cast<T*>(at.out), n, out_step);
      } else {
        // The columns of Fortran's matrices are contiguous: this is the transposed product.
        numba_xxgemm(kKind, b.is_turned ? 't' : 'n', a.is_turned ? 't' : 'n', n, rows, k, &one, at.b, b.step, at.a,
                     a.step, &zero, at.out, out_step);
      }
    };
    const bool are_around = others.n > 0 && row->out > others.list[0].out && !is_half;
    const int64_t part = are_around ? std::max(kFewestRows, kInCache / (row->out + row->a)) : m;
    for (int64_t first = 0; first < m; first += part, places.Move(*row, part)) {
      others.ForEach(places, [&](const Places& at, bool) { multiply(at, std::min(part, m - first)); });
    }
    return Outcome::kDone;
  }

  // Copies what is above the diagonal of a square matrix to the place across it, block by block.
  static void Mirror(T* matrix, int64_t n, int64_t step) {
    constexpr int64_t kBlock = 16;
    for (int64_t top = 0; top < n; top += kBlock) {
      for (int64_t left = 0; left <= top; left += kBlock) {
        for (int64_t i = top; i < std::min(top + kBlock, n); ++i) {
          for (int64_t j = left; j < std::min(left + kBlock, i); ++j) matrix[i * step + j] = matrix[j * step + i];
        }
      }
    }
  }

  // Continues with a copy of an operand; of several summed axes, with copies of both, where they are one axis.
  static Outcome RunWithCopy(Places places, Axes axes, int64_t Axis::*stride, const char* Places::*data, bool both) {
    const Copy copy(axes, stride, kItem);
    if (!copy.Read(places.*data)) return Outcome::kNoMemory;
    places.*data = copy.memory();
    if (both) return RunWithCopy(places, axes, &Axis::b, &Places::b, false);
    axes.Simplify();
    return Run(places, axes);
  }

  // Computes the result in separate memory, and copies it.
  static Outcome RunApart(Places places, Axes axes) {
    char* const out = places.out;
    const Copy copy(axes, &Axis::out, kItem);
    places.out = copy.memory();
    if (places.out == nullptr) return Outcome::kNoMemory;
    const Outcome outcome = Run(places, axes);
    return outcome == Outcome::kDone && !copy.Write(out) ? Outcome::kNoMemory : outcome;
  }
};

// Computes what is described below, for a table of four rows: the lengths of the axes, and the strides of out, a and b.
template <typename T, typename Ring>
int Contract(int64_t n_axes, int64_t n_out, const int64_t* table, char* out, const char* a, const char* b) {
  const T one = 1;
  const Places places{out, a, b != nullptr ? b : reinterpret_cast<const char*>(&one)};
  Axes axes;
  bool is_empty_sum = false;
  for (int64_t i = 0; i < n_axes; ++i) {
    const Axis axis{table[i], table[n_axes + i], table[2 * n_axes + i], table[3 * n_axes + i], i >= n_out};
    if (axis.length == 0 && !axis.is_summed) return 1;
    if (axis.length == 0) is_empty_sum = true;
    if (axis.length != 1) axes.Add(axis);
  }
  if (is_empty_sum) {
    Axes results;
    for (const Axis& axis : axes) {
      if (!axis.is_summed) results.Add(axis);
    }
    results.ForEach(places, [](const Places& at, bool) { *reinterpret_cast<T*>(at.out) = 0; });
    return 1;
  }
  axes.Simplify();
  if constexpr (std::is_floating_point_v<T>) {
    const Outcome outcome = Products<T>::Run(places, axes);
    if (outcome != Outcome::kNotForBlas) return outcome == Outcome::kDone;
  }
  Loops<T, Ring>::Run(places, axes);
  return 1;
}

// Integers are added and multiplied modulo their size, with a sign or without.
constexpr bool kIsFlag = std::is_same_v<PK_TYPE, bool>;
using Whole = std::make_unsigned<std::conditional_t<kIsFlag || !std::is_integral_v<PK_TYPE>, uint8_t, PK_TYPE>>::type;
using Element = std::conditional_t<std::is_floating_point_v<PK_TYPE>, PK_TYPE, Whole>;

}  // namespace

// Computes out[outer axes] as the sum over the other axes of a times b, or of a if b is null. The table has a row for
// the lengths of all axes, the outer ones first, and one for the strides, in bytes, of each array, 0 where it lacks the
// axis. The result overlaps no operand. Returns 0 if there is not enough memory.
extern "C" int PK_TYPED(pk_contract)(int64_t n_axes, int64_t n_out, const int64_t* table, char* out, const char* a,
                                     const char* b) {
  return Contract<Element, std::conditional_t<kIsFlag, Flags, Numbers>>(n_axes, n_out, table, out, a, b);
}
