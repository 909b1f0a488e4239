// Sorts keys: few by a network, more by splitting them first, as quicksort does; of small dtypes, by counting.
#pragma once

#include "network.h"
#include "splitting.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace {

// Memory that ordering up to n keys needs: `rows` for a network or for counts, and `other` for as many keys.
template <typename Key>
struct Room {
  // How many keys a network sorts in less time than it takes to split them.
  static constexpr int64_t kFew = sizeof(Key) == 2 ? 16384 : 8192 / sizeof(Key);
  static constexpr bool kIsCounted = sizeof(Key) <= 2;

  Key *rows, *other;

  static int64_t Size(int64_t n) { return Rows(n) + n; }
  // `memory` is aligned for vectors, and holds `Size(n)` keys.
  Room(Key* memory, int64_t n) : rows(memory), other(memory + Rows(n)) {}

 private:
  static int64_t Rows(int64_t n) {
    const int64_t counts = (int64_t{1} << 8 * std::min<std::size_t>(sizeof(Key), 2)) * sizeof(int64_t) / sizeof(Key);
    const int64_t network = Network<Key>::RoomFor(std::max(std::min(n, kFew), kSample));
    return kIsCounted && n > kFew ? std::max(counts, network) : network;
  }
};

// Sorts keys of few values.
template <typename Key>
void CountingSort(Key* keys, const Room<Key>& room, int64_t n) {
  constexpr int64_t kValues = int64_t{1} << 8 * sizeof(Key), kLeast = std::numeric_limits<Key>::min();
  auto* const counts = reinterpret_cast<int64_t*>(room.rows);
  std::fill(counts, counts + kValues, 0);
  for (int64_t i = 0; i < n; ++i) ++counts[keys[i] - kLeast];
  for (int64_t value = 0; value < kValues; keys += counts[value++]) {
    std::fill(keys, keys + counts[value], static_cast<Key>(value + kLeast));
  }
}

// Sorts keys into one of two arrays, their own or the other, which both change.
template <typename Key>
void QuickSort(Key* keys, Key* other, Key* rows, int64_t n, bool is_for_other, int splits) {
  while (n > Room<Key>::kFew && splits-- > 0) {
    const Key pivot = PivotOf(keys, rows, n, 0.5);
    int64_t less = Split(keys, other, n, pivot);
    if (less > 0) {
      QuickSort(other, keys, rows, less, !is_for_other, splits);
    } else {
      less = SplitEqual(keys, other, n, pivot);
      if (!is_for_other) std::copy(other, other + less, keys);
    }
    keys += less;
    other += less;
    n -= less;
    std::swap(keys, other);
    is_for_other = !is_for_other;
  }
  Key* const to = is_for_other ? other : keys;
  if (n <= Room<Key>::kFew) return Network<Key>::Sort(keys, to, rows, n);
  if (to != keys) std::copy(keys, keys + n, to);
  std::sort(to, to + n);
}

template <typename Key>
void InsertionSort(Key* keys, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Key key = keys[i];
    int64_t k = i;
    for (; k > 0 && key < keys[k - 1]; --k) keys[k] = keys[k - 1];
    keys[k] = key;
  }
}

template <typename Key>
void Sort(Key* keys, const Room<Key>& room, int64_t n) {
  constexpr int64_t kFewest = 8;
  if (n <= kFewest) {
    InsertionSort(keys, n);
  } else if (n <= Room<Key>::kFew) {
    Network<Key>::Sort(keys, keys, room.rows, n);
  } else if constexpr (Room<Key>::kIsCounted) {
    CountingSort(keys, room, n);
  } else {
    QuickSort(keys, room.other, room.rows, n, false, MostSplits(n));
  }
}

// Puts the keys of given ranks where sorting would put them, no greater ones before and no lesser ones behind, into one
// of two arrays, as `QuickSort` does. The ranks increase; the first key has the rank `base`.
template <typename Key>
void Select(Key* keys, Key* other, Key* rows, int64_t n, const int64_t* ranks, int64_t count, int64_t base,
            bool is_for_other, int splits) {
  constexpr int64_t kFewToSelect = 256;
  while (count > 0) {
    if (n <= kFewToSelect || splits-- == 0) return QuickSort(keys, other, rows, n, is_for_other, MostSplits(n));
    // The pivot separates the shorter part that is likely to have the rank.
    const double part = (static_cast<double>(ranks[count / 2] - base) + 0.5) / static_cast<double>(n);
    const double error = 2.0 * std::sqrt((part * (1 - part) + 0.01) / kSample);
    const Key pivot = PivotOf(keys, rows, n, part < 0.5 ? part + error : part - error);
    int64_t less = Split(keys, other, n, pivot);
    const bool are_equal = less == 0;
    if (are_equal) less = SplitEqual(keys, other, n, pivot);
    const int64_t before = std::lower_bound(ranks, ranks + count, base + less) - ranks;
    Select(other, keys, rows, less, ranks, are_equal ? 0 : before, base, !is_for_other, splits);
    keys += less;
    other += less;
    n -= less;
    std::swap(keys, other);
    is_for_other = !is_for_other;
    ranks += before;
    count -= before;
    base += less;
  }
  if (is_for_other) std::copy(keys, keys + n, other);
}

template <typename Key>
void Partition(Key* keys, const Room<Key>& room, int64_t n, const int64_t* ranks, int64_t count) {
  constexpr int64_t kManyRanks = 16;
  if (count > kManyRanks || (Room<Key>::kIsCounted && n > Room<Key>::kFew)) return Sort(keys, room, n);
  Select(keys, room.other, room.rows, n, ranks, count, 0, false, MostSplits(n));
}

}  // namespace
