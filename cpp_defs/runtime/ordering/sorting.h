// Sorts items by their keys: stably by radix, or as NumPy's introsort does, which decides where equal numbers go.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace {

constexpr int kDigits = 256;

template <typename Item>
void InsertionSort(Item* items, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    const Item item = items[i];
    int64_t k = i;
    for (; k > 0 && item.key < items[k - 1].key; --k) items[k] = items[k - 1];
    items[k] = item;
  }
}

// Sorts items, with room for as many, by each digit in turn. Equal items keep their order.
template <typename Item>
void StableSort(Item* items, Item* room, int64_t n) {
  constexpr int kBytes = sizeof(items->key);
  if (n <= 8 * kBytes) return InsertionSort(items, n);
  int64_t counts[kBytes][kDigits] = {};
  bool is_sorted = true;
  for (int64_t i = 0; i < n; ++i) {
    const auto key = items[i].key;
    for (int digit = 0; digit < kBytes; ++digit) ++counts[digit][key >> (8 * digit) & (kDigits - 1)];
    is_sorted &= i == 0 || items[i - 1].key <= key;
  }
  if (is_sorted) return;
  Item *from = items, *to = room;
  for (int digit = 0; digit < kBytes; ++digit) {
    int64_t* const places = counts[digit];
    const int shift = 8 * digit;
    if (places[from[0].key >> shift & (kDigits - 1)] == n) continue;
    int64_t next = 0;
    for (int i = 0; i < kDigits; ++i) next += std::exchange(places[i], next);
    for (int64_t i = 0; i < n; ++i) to[places[from[i].key >> shift & (kDigits - 1)]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// Sorts items as NumPy's quicksort does: by the median of the first, middle and last; at most 16 by insertion. Past
// `depth` partitions, where NumPy sorts by a heap, it is stable.
template <typename Item>
void IntroSort(Item* items, Item* room, int64_t n, int depth) {
  constexpr int64_t kFew = 15;
  while (n - 1 > kFew) {
    if (depth-- < 0) return StableSort(items, room, n);
    Item *const first = items, *const middle = items + (n - 1) / 2, *const last = items + n - 1;
    if (middle->key < first->key) std::swap(*middle, *first);
    if (last->key < middle->key) std::swap(*last, *middle);
    if (middle->key < first->key) std::swap(*middle, *first);
    const auto pivot = middle->key;
    Item *low = first, *high = last - 1;
    std::swap(*middle, *high);
    while (true) {
      do ++low;
      while (low->key < pivot);
      do --high;
      while (pivot < high->key);
      if (low >= high) break;
      std::swap(*low, *high);
    }
    std::swap(*low, *(last - 1));
    const int64_t before = low - first, after = last - low;
    if (before < after) {
      IntroSort(items, room, before, depth);
      items = low + 1, n = after;
    } else {
      IntroSort(low + 1, room, after, depth);
      n = before;
    }
  }
  InsertionSort(items, n);
}

}  // namespace
