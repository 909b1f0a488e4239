// Splits keys into lesser and greater ones.
#pragma once

#include "network.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

namespace {

// The number of keys among which a pivot is found.
constexpr int64_t kSample = 64;

// Returns a key that is greater than about this part of the keys.
template <typename Key>
Key PivotOf(const Key* keys, int64_t n, double part) {
  Key sample[kSample];
  const int64_t step = n / kSample;
  for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * step + step / 2];
  Network<Key>::Sort(sample, kSample);
  return sample[std::clamp<int64_t>(static_cast<int64_t>(part * kSample), 0, kSample - 1)];
}

// How often keys are split before another method takes over: twice as often as halving them takes.
inline int MostSplits(int64_t n) {
  int depth = 0;
  while (n >>= 1) depth += 2;
  return depth;
}

// Moves the lanes less than the pivot to the front, and counts them. The header of the processor's instructions would
// take most of the time to compile.
#ifdef __AVX512BW__
template <typename Vector>
int MoveLesser(Vector& keys, const Vector& pivot) {
  typedef int32_t Words __attribute__((vector_size(64)));
  typedef long long Longs __attribute__((vector_size(64)));
  constexpr int kIsLess = 1;
  const auto words = (Words)keys;
  const auto longs = (Longs)keys;
  int less;
  if constexpr (sizeof keys[0] == 4) {
    const uint16_t set = __builtin_ia32_cmpd512_mask(words, (Words)pivot, kIsLess, 0xffff);
    less = __builtin_popcount(set);
    const Words others = __builtin_ia32_compresssi512_mask(words, words, uint16_t(~set));
    const Words lesser = __builtin_ia32_compresssi512_mask(words, words, set);
    keys = (Vector)__builtin_ia32_expandsi512_mask(others, lesser, uint16_t(0xffff << less));
  } else {
    const uint8_t set = __builtin_ia32_cmpq512_mask(longs, (Longs)pivot, kIsLess, 0xff);
    less = __builtin_popcount(set);
    const Longs others = __builtin_ia32_compressdi512_mask(longs, longs, uint8_t(~set));
    const Longs lesser = __builtin_ia32_compressdi512_mask(longs, longs, set);
    keys = (Vector)__builtin_ia32_expanddi512_mask(others, lesser, uint8_t(0xff << less));
  }
  return less;
}
#elif defined(__AVX2__)
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

#ifdef __AVX2__
// Moves the keys less than the pivot to the front, in whole vectors; counts them, and the keys of all vectors. A vector
// is written twice, to both ends, and no unread key is written over: there is room for several vectors that wait.
template <typename Key>
std::pair<int64_t, int64_t> SplitVectors(Key* keys, int64_t n, Key pivot) {
  using Vector = typename Network<Key>::Vector;
  constexpr int64_t kLanes = Network<Key>::kLanes, kMany = 8, kBlock = kMany * kLanes;
  if (n < 2 * kBlock) return {0, 0};
  n -= n % kLanes;
  const Vector pivots = pivot - Vector{};
  Key *low = keys, *high = keys + n;                  // what is between them may be written
  Key *first = keys + kBlock, *last = high - kBlock;  // what is between them is unread
  Vector waiting[2 * kMany], lanes[kMany];
  std::memcpy(waiting, low, sizeof lanes);
  std::memcpy(waiting + kMany, last, sizeof lanes);
  const auto write = [&](Vector lanes) __attribute__((always_inline)) {
    const int less = MoveLesser(lanes, pivots);
    std::memcpy(low, &lanes, sizeof lanes);
    std::memcpy(high - kLanes, &lanes, sizeof lanes);
    low += less;
    high -= kLanes - less;
  };
  // Reads from the end that has less room.
  const auto read = [&](int64_t count) __attribute__((always_inline)) {
    const bool is_first = first - low <= high - last;
    const Key* const from = is_first ? first : last - count;
    first += is_first ? count : 0;
    last -= is_first ? 0 : count;
    return from;
  };
  while (last - first >= kBlock) {
    std::memcpy(lanes, read(kBlock), sizeof lanes);
#pragma GCC unroll 8
    for (const Vector& each : lanes) write(each);
  }
  while (last != first) {
    std::memcpy(lanes, read(kLanes), sizeof lanes[0]);
    write(lanes[0]);
  }
  for (const Vector& each : waiting) write(each);
  return {low - keys, n};
}
#endif

// Moves the keys less than the pivot to the front, and counts them.
template <typename Key>
int64_t Split(Key* keys, int64_t n, Key pivot) {
  int64_t less = 0, i = 0;
#ifdef __AVX2__
  if constexpr (sizeof(Key) >= 4) std::tie(less, i) = SplitVectors(keys, n, pivot);
#endif
  for (; i < n; ++i) {
    const Key key = keys[i];
    keys[i] = keys[less];
    keys[less] = key;
    less += key < pivot;
  }
  return less;
}

// Splits keys of which none is less than the pivot: those that are equal to it come first.
template <typename Key>
int64_t SplitEqual(Key* keys, int64_t n, Key pivot) {
  return pivot < std::numeric_limits<Key>::max() ? Split(keys, n, Key(pivot + 1)) : n;
}

}  // namespace
