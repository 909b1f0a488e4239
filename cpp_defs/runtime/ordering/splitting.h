// Splits keys into lesser and greater ones.
#pragma once

#include "network.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

// The number of keys among which a pivot is found.
constexpr int64_t kSample = 64;

// Returns a key that is greater than about this part of the keys; `rows` is room for a network.
template <typename Key>
Key PivotOf(const Key* keys, Key* rows, int64_t n, double part) {
  Key sample[kSample];
  const int64_t step = n / kSample;
  for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * step + step / 2];
  Network<Key>::Sort(sample, sample, rows, kSample);
  return sample[std::clamp<int64_t>(static_cast<int64_t>(part * kSample), 0, kSample - 1)];
}

// How often keys are split before another method takes over: twice as often as halving them takes.
inline int MostSplits(int64_t n) {
  int depth = 0;
  while (n >>= 1) depth += 2;
  return depth;
}

#ifdef __AVX2__
// Orders of lanes by the set of those that come first; each has 8 numbers of 32 bits.
template <int kLanes>
struct Orders {
  int32_t list[1 << kLanes][8] = {};

  constexpr Orders() {
    for (int set = 0; set < 1 << kLanes; ++set) {
      int at = 0;
      for (int is_first = 1; is_first >= 0; --is_first) {
        for (int word = 0; word < 8; ++word) {
          const int lane = word * kLanes / 8;
          if ((set >> lane & 1) == is_first) list[set][at++] = word;
        }
      }
    }
  }
};
template <int kLanes>
constexpr Orders<kLanes> kOrders;

// Moves the lanes less than the pivot to the front, and counts them. The header of the processor's instructions would
// take most of the time to compile.
template <typename Vector>
int MoveLesser(Vector& keys, const Vector& pivot) {
  typedef float Floats __attribute__((vector_size(32)));
  typedef double Doubles __attribute__((vector_size(32)));
  typedef int32_t Words __attribute__((vector_size(32)));
  constexpr int kLanes = sizeof(Vector) / sizeof(keys[0]);
  unsigned set;
  if constexpr (kLanes == 8) {
    set = static_cast<unsigned>(__builtin_ia32_movmskps256((Floats)(keys < pivot)));
  } else {
    set = static_cast<unsigned>(__builtin_ia32_movmskpd256((Doubles)(keys < pivot)));
  }
  Words order;
  std::memcpy(&order, kOrders<kLanes>.list[set], sizeof order);
  keys = (Vector)__builtin_ia32_permvarsi256((Words)keys, order);
  return __builtin_popcount(set);
}
#endif

// Writes the keys less than the pivot to the front of another array, the others behind them; returns the number of the
// former.
template <typename Key>
int64_t Split(const Key* keys, Key* to, int64_t n, Key pivot) {
  Key *low = to, *high = to + n;  // between them is room for the keys that are left
  const Key *const end = keys + n, *single = end;
#ifdef __AVX2__
  if constexpr (sizeof(Key) >= 4) single = keys + n % Network<Key>::kLanes;
#endif
  for (; keys != single; ++keys) {
    const Key key = *keys;
    *low = high[-1] = key;
    const bool is_less = key < pivot;
    low += is_less;
    high -= !is_less;
  }
#ifdef __AVX2__
  if constexpr (sizeof(Key) >= 4) {
    constexpr int64_t kLanes = Network<Key>::kLanes;
    using Vector = typename Network<Key>::Vector;
    const Vector pivots = pivot - Vector{};
    for (; keys != end; keys += kLanes) {
      Vector lanes;
      std::memcpy(&lanes, keys, sizeof lanes);
      const int less = MoveLesser(lanes, pivots);
      // The room is one vector, which is written twice, or more: then the other lanes are written over.
      std::memcpy(low, &lanes, sizeof lanes);
      std::memcpy(high - kLanes, &lanes, sizeof lanes);
      low += less;
      high -= kLanes - less;
    }
  }
#endif
  return low - to;
}

// Splits keys of which none is less than the pivot: those that are equal to it come first.
template <typename Key>
int64_t SplitEqual(const Key* keys, Key* to, int64_t n, Key pivot) {
  if (pivot < std::numeric_limits<Key>::max()) return Split(keys, to, n, Key(pivot + 1));
  std::copy(keys, keys + n, to);
  return n;
}

}  // namespace
