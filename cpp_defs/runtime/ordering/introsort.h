// Sorts keys with their places as NumPy's introsort does, which decides where equal keys go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace {

template <typename Key>
struct Placed {
  Key key;
  int64_t place;

  bool operator<(const Placed& other) const { return key < other.key; }
};

template <typename Key>
void StableSort(Placed<Key>* items, int64_t n) {
  std::sort(items, items + n, [](const Placed<Key>& x, const Placed<Key>& y) {
    return x.key != y.key ? x.key < y.key : x.place < y.place;
  });
}

// Sorts by the median of the first, middle and last key; at most 16 by insertion. Past so many `splits`, where NumPy
// sorts by a heap, equal keys are in the order of their places.
template <typename Key>
void IntroSort(Placed<Key>* items, int64_t n, int splits) {
  using Item = Placed<Key>;
  constexpr int64_t kFew = 15;
  while (n - 1 > kFew) {
    if (splits-- < 0) return StableSort(items, n);
    Item *const first = items, *const middle = items + (n - 1) / 2, *const last = items + n - 1;
    if (*middle < *first) std::swap(*middle, *first);
    if (*last < *middle) std::swap(*last, *middle);
    if (*middle < *first) std::swap(*middle, *first);
    const Item pivot = *middle;
    Item *low = first, *high = last - 1;
    std::swap(*middle, *high);
    while (true) {
      do ++low;
      while (*low < pivot);
      do --high;
      while (pivot < *high);
      if (low >= high) break;
      std::swap(*low, *high);
    }
    std::swap(*low, *(last - 1));
    const int64_t before = low - first, after = last - low;
    if (before < after) {
      IntroSort(items, before, splits);
      items = low + 1, n = after;
    } else {
      IntroSort(low + 1, after, splits);
      n = before;
    }
  }
  for (int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    int64_t k = i;
    for (; k > 0 && item < items[k - 1]; --k) items[k] = items[k - 1];
    items[k] = item;
  }
}

}  // namespace
