// Transposes squares of elements in vector registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace {

// The number of rows and columns of a square: its rows are vectors.
template <std::size_t kItem>
constexpr int kSquare = 16 / kItem;

template <typename T>
struct Row {
  typedef T Vector __attribute__((vector_size(kSquare<sizeof(T)> * sizeof(T))));
};

// Joins the lower (kHigh = 0) or upper halves of two vectors, taking an element of each in turn.
template <int kHigh, typename T, typename Vector, int... kAt>
inline Vector Interleaved(Vector a, Vector b, std::integer_sequence<int, kAt...>) {
  constexpr int kCount = sizeof...(kAt);
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (kAt / 2 + kHigh * kCount / 2 + kAt % 2 * kCount)...);
#else
  const Vector order = {static_cast<T>(kAt / 2 + kHigh * kCount / 2 + kAt % 2 * kCount)...};
  return __builtin_shuffle(a, b, order);
#endif
}

// Copies a square whose columns are contiguous in the source; the steps from row to row of the target, and from column
// to column of the source, are in bytes.
template <typename T>
inline void TurnSquare(char* to, int64_t to_step, const char* from, int64_t from_step) {
  using Vector = typename Row<T>::Vector;
  constexpr int kCount = kSquare<sizeof(T)>;
  Vector rows[kCount], next[kCount];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) std::memcpy(&rows[i], from + i * from_step, sizeof(Vector));
#pragma GCC unroll 4
  for (int step = 1; step < kCount; step *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kCount / 2; ++i) {
      const auto all = std::make_integer_sequence<int, kCount>();
      next[2 * i] = Interleaved<0, T>(rows[i], rows[i + kCount / 2], all);
      next[2 * i + 1] = Interleaved<1, T>(rows[i], rows[i + kCount / 2], all);
    }
    std::memcpy(rows, next, sizeof rows);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) std::memcpy(to + i * to_step, &rows[i], sizeof(Vector));
}

}  // namespace
