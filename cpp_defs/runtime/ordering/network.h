// Sorts keys by a network of comparisons, in vectors: the same comparisons for all keys, without branches.
//
// The keys fill the rows of a matrix, one vector each. Its columns are sorted, all at once, by comparing rows; then
// neighbouring columns are merged into sorted runs of 2, 4, ... columns. This is Batcher's bitonic sort, in which both
// comparisons of a merge put the lesser key first: the first one compares a run with the reversed next one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace {

template <typename Key>
class Network {
 public:
#ifdef __AVX512BW__
  static constexpr std::size_t kAlignment = 64;
#else
  static constexpr std::size_t kAlignment = 32;
#endif
  static constexpr int kLanes = kAlignment / sizeof(Key);
  typedef Key Vector __attribute__((vector_size(kAlignment)));
  // How many keys it sorts in less time than it takes to split them: a power of two.
  static constexpr int64_t kFew = sizeof(Key) == 2 ? 16384 : 8192 / sizeof(Key);

  // Sorts at most so many keys.
  static void Sort(Key* keys, int64_t n) {
    alignas(kAlignment) Key room[kFew];
    const Shape shape(n);
    std::copy(keys, keys + n, room);
    std::fill(room + n, room + shape.rows * kLanes, std::numeric_limits<Key>::max());
    auto* const rows = reinterpret_cast<Vector*>(room);
    shape.group == 4 ? SortRows<4>(rows, shape.rows) : SortRows<6>(rows, shape.rows);
    for (int64_t column = 0; column * shape.rows < n; ++column) {
      Key* const part = keys + column * shape.rows;
      const int64_t length = std::min(shape.rows, n - column * shape.rows);
      for (int64_t i = 0; i < length; ++i) part[i] = room[i * kLanes + column];
    }
  }

 private:
  // The number of rows: a power of two of groups of 4 or 6 rows, which fit in registers.
  struct Shape {
    int64_t group = 4, rows = 4;

    explicit Shape(int64_t n) {
      while (rows * kLanes < n) {
        rows = group == 4 ? rows / 4 * 6 : rows / 6 * 8;
        group = group == 4 ? 6 : 4;
      }
    }
  };

  static __attribute__((always_inline)) void Order(Vector& x, Vector& y) {
    const Vector less = x < y ? x : y;
    y = x < y ? y : x;
    x = less;
  }

  // Sorts a few rows by Batcher's merge exchange (Knuth, Algorithm 5.2.2M), whose names of variables these are.
  template <int kRows, int kTop, int p, int q, int r, int d, int i = 0>
  static __attribute__((always_inline)) void Exchange(Vector* rows) {
    if constexpr (i + d < kRows) {
      if constexpr ((i & p) == r) Order(rows[i], rows[i + d]);
      Exchange<kRows, kTop, p, q, r, d, i + 1>(rows);
    } else if constexpr (q != p) {
      Exchange<kRows, kTop, p, q / 2, p, q - p>(rows);
    } else if constexpr (p > 1) {
      Exchange<kRows, kTop, p / 2, kTop, 0, p / 2>(rows);
    }
  }
  template <int kRows>
  static __attribute__((always_inline)) void SortFew(Vector* rows) {
    constexpr int kTop = kRows > 4 ? 4 : 2;
    Exchange<kRows, kTop, kTop, kTop, 0, kTop>(rows);
  }

  // Sorts each group of rows; `kHalved` first separates the lesser half of each two groups.
  template <int kGroup, bool kHalved>
  static void SortGroups(Vector* rows, int64_t n) {
    constexpr int kRows = kHalved ? 2 * kGroup : kGroup;
    for (int64_t first = 0; first < n; first += kRows) {
      Vector few[kRows];  // in registers, once these loops are unrolled
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) few[i] = rows[first + i];
      if constexpr (kHalved) {
#pragma GCC unroll 12
        for (int i = 0; i < kGroup; ++i) Order(few[i], few[i + kGroup]);
        SortFew<kGroup>(few + kGroup);
      }
      SortFew<kGroup>(few);
#pragma GCC unroll 12
      for (int i = 0; i < kRows; ++i) rows[first + i] = few[i];
    }
  }

  // Sorts runs of rows of which each is bitonic.
  template <int kGroup>
  static void Merge(Vector* rows, int64_t n, int64_t run) {
    for (; run > 4 * kGroup; run /= 4) {
      const int64_t step = run / 4;
      for (Vector* first = rows; first < rows + n; first += run) {
        for (int64_t i = 0; i < step; ++i) {
          Vector a = first[i], b = first[i + step], c = first[i + 2 * step], d = first[i + 3 * step];
          Order(a, c);
          Order(b, d);
          Order(a, b);
          Order(c, d);
          first[i] = a, first[i + step] = b, first[i + 2 * step] = c, first[i + 3 * step] = d;
        }
      }
    }
    if (run == 4 * kGroup) {
      for (Vector* first = rows; first < rows + n; first += run) {
        for (int64_t i = 0; i < 2 * kGroup; ++i) Order(first[i], first[i + 2 * kGroup]);
      }
      run /= 2;
    }
    if (run == 2 * kGroup) {
      SortGroups<kGroup, true>(rows, n);
    } else {
      SortGroups<kGroup, false>(rows, n);
    }
  }

  template <int kGroup>
  static void SortRows(Vector* rows, int64_t n) {
    SortGroups<kGroup, false>(rows, n);
    for (int64_t run = 2 * kGroup; run <= n; run *= 2) {
      for (Vector* first = rows; first < rows + n; first += run) {
        for (int64_t i = 0; i < run / 2; ++i) Order(first[i], first[run - 1 - i]);
      }
      Merge<kGroup>(rows, n, run / 2);
    }
    MergeColumns<kGroup, 2>(rows, n);
  }

  template <int kGroup, int kColumns>
  static void MergeColumns(Vector* rows, int64_t n) {
    if constexpr (kColumns <= kLanes) {
      for (int64_t i = 0; i < n - 1 - i; ++i) {
        const Vector a = rows[i], b = rows[n - 1 - i];
        rows[i] = MergeLanes<kColumns / 4>(Choose<kColumns / 2>(a, Swap<kColumns - 1>(b)));
        rows[n - 1 - i] = MergeLanes<kColumns / 4>(Choose<kColumns / 2>(b, Swap<kColumns - 1>(a)));
      }
      if (n % 2 != 0) {
        Vector& a = rows[n / 2];
        a = MergeLanes<kColumns / 4>(Choose<kColumns / 2>(a, Swap<kColumns - 1>(a)));
      }
      Merge<kGroup>(rows, n, n);
      MergeColumns<kGroup, 2 * kColumns>(rows, n);
    }
  }

  template <int kDistance>
  static __attribute__((always_inline)) Vector MergeLanes(Vector row) {
    if constexpr (kDistance == 0) {
      return row;
    } else {
      return MergeLanes<kDistance / 2>(Choose<kDistance>(row, Swap<kDistance>(row)));
    }
  }

  // Returns the lanes of a row in the order 0 ^ kBits, 1 ^ kBits, ...
  template <int kBits>
  static __attribute__((always_inline)) Vector Swap(Vector row) {
    return Swapped<kBits>(row, std::make_integer_sequence<int, kLanes>());
  }
  template <int kBits, int... kLane>
  static __attribute__((always_inline)) Vector Swapped(Vector row, std::integer_sequence<int, kLane...>) {
#ifdef __clang__
    return __builtin_shufflevector(row, row, (kLane ^ kBits)...);
#else
    return __builtin_shuffle(row, Vector{Key(kLane ^ kBits)...});
#endif
  }

  // Returns the greater numbers in the lanes whose places have a bit, and the lesser ones in the others.
  template <int kBit>
  static __attribute__((always_inline)) Vector Choose(Vector x, Vector y) {
    return Chosen<kBit>(x, y, std::make_integer_sequence<int, kLanes>());
  }
  template <int kBit, int... kLane>
  static __attribute__((always_inline)) Vector Chosen(Vector x, Vector y, std::integer_sequence<int, kLane...>) {
    const Vector less = x < y ? x : y, greater = x < y ? y : x;
#ifdef __clang__
    return __builtin_shufflevector(less, greater, ((kLane & kBit) != 0 ? kLane + kLanes : kLane)...);
#else
    return __builtin_shuffle(less, greater, Vector{Key((kLane & kBit) != 0 ? kLane + kLanes : kLane)...});
#endif
  }
};

}  // namespace
