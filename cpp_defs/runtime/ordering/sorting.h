// Sorts keys: few by a network, more by splitting them first, as quicksort does; of small dtypes, by counting.
#pragma once

#include "lines.h"
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

// Whether many keys have so few values that they are counted.
template <typename Key>
constexpr bool kIsCounted = sizeof(Key) <= 2;

// Sorts keys of few values.
template <typename Key>
void CountingSort(Key* keys, int64_t n) {
  constexpr int64_t kValues = int64_t{1} << 8 * sizeof(Key), kLeast = std::numeric_limits<Key>::min();
  Memory memory({kValues * static_cast<int64_t>(sizeof(int64_t))});
  if (!memory.exists()) return std::sort(keys, keys + n);
  auto* const counts = memory.Take<int64_t>(0);
  std::fill(counts, counts + kValues, 0);
  for (int64_t i = 0; i < n; ++i) ++counts[keys[i] - kLeast];
  for (int64_t value = 0; value < kValues; keys += counts[value++]) {
    std::fill(keys, keys + counts[value], static_cast<Key>(value + kLeast));
  }
}

template <typename Key>
void QuickSort(Key* keys, int64_t n, int splits) {
  while (n > Network<Key>::kFew && splits-- > 0) {
    const Key pivot = PivotOf(keys, n, 0.5);
    int64_t less = Split(keys, n, pivot);
    if (less > 0) {
      QuickSort(keys, less, splits);
    } else {
      less = SplitEqual(keys, n, pivot);
    }
    keys += less;
    n -= less;
  }
  n <= Network<Key>::kFew ? Network<Key>::Sort(keys, n) : std::sort(keys, keys + n);
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
void Sort(Key* keys, int64_t n) {
  constexpr int64_t kFewest = 8;
  if (n <= kFewest) {
    InsertionSort(keys, n);
  } else if (n <= Network<Key>::kFew) {
    Network<Key>::Sort(keys, n);
  } else if constexpr (kIsCounted<Key>) {
    CountingSort(keys, n);
  } else {
    QuickSort(keys, n, MostSplits(n));
  }
}

// Puts the keys of given ranks where sorting would put them, no greater ones before and no lesser ones behind. The
// ranks increase; the first key has the rank `base`.
template <typename Key>
void Select(Key* keys, int64_t n, const int64_t* ranks, int64_t count, int64_t base, int splits) {
  constexpr int64_t kFewToSelect = 256;
  while (count > 0) {
    if (n <= kFewToSelect || splits-- == 0) return QuickSort(keys, n, MostSplits(n));
    // The pivot separates the shorter part that is likely to have the rank.
    const double part = (static_cast<double>(ranks[count / 2] - base) + 0.5) / static_cast<double>(n);
    const double error = 2.0 * std::sqrt((part * (1 - part) + 0.01) / kSample);
    const Key pivot = PivotOf(keys, n, part < 0.5 ? part + error : part - error);
    int64_t less = Split(keys, n, pivot);
    const bool are_equal = less == 0;
    if (are_equal) less = SplitEqual(keys, n, pivot);
    const int64_t before = std::lower_bound(ranks, ranks + count, base + less) - ranks;
    Select(keys, less, ranks, are_equal ? 0 : before, base, splits);
    keys += less;
    n -= less;
    ranks += before;
    count -= before;
    base += less;
  }
}

template <typename Key>
void Partition(Key* keys, int64_t n, const int64_t* ranks, int64_t count) {
  constexpr int64_t kManyRanks = 16;
  if (count > kManyRanks || (kIsCounted<Key> && n > Network<Key>::kFew)) return Sort(keys, n);
  Select(keys, n, ranks, count, 0, MostSplits(n));
}

}  // namespace
