// Puts the items of given ranks where sorting would put them, with the lesser items before and the others behind.
#pragma once

#include "sorting.h"

#include <algorithm>
#include <cstdint>

namespace {

// Finds the key of a rank, digit by digit, among the items whose higher digits are the same; `keys` has room for all.
template <typename Item>
typename Item::Key KeyOfRank(const Item* items, typename Item::Key* keys, int64_t n, int64_t rank) {
  using Key = typename Item::Key;
  for (int64_t i = 0; i < n; ++i) keys[i] = items[i].key;
  Key found = 0;
  for (int shift = 8 * (sizeof(Key) - 1); shift >= 0; shift -= 8) {
    int64_t counts[2][kDigits] = {};
    for (int64_t i = 0; i < n; ++i) ++counts[i & 1][keys[i] >> shift & (kDigits - 1)];
    int digit = 0;
    int64_t count = counts[0][0] + counts[1][0];
    for (; rank >= count; count = counts[0][digit] + counts[1][digit]) rank -= count, ++digit;
    found |= Key(Key(digit) << shift);
    if (count == n) continue;
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      keys[kept] = key;
      kept += (key >> shift & (kDigits - 1)) == Key(digit);
    }
    n = kept;
  }
  return found;
}

// Does so for ranks in increasing order, from `base` on; `room` is for as many items.
template <typename Item>
void Partition(Item* items, Item* room, int64_t n, const int64_t* ranks, int64_t count, int64_t base) {
  constexpr int64_t kFew = 64, kManyRanks = 16;
  if (count == 0 || n < 2) return;
  if (n <= kFew || count > kManyRanks) return StableSort(items, room, n);
  const int64_t at = count / 2;
  const auto key = KeyOfRank(items, reinterpret_cast<typename Item::Key*>(room), n, ranks[at] - base);
  // Lesser items move to the front, equal ones to the front of the room, and greater ones behind, backwards.
  int64_t less = 0, equal = 0, greater = n;
  for (int64_t i = 0; i < n; ++i) {
    const Item item = items[i];
    const bool is_less = item.key < key, is_equal = item.key == key;
    items[less] = item;
    room[equal] = item;
    room[greater - 1] = item;
    less += is_less;
    equal += is_equal;
    greater -= !is_less && !is_equal;
  }
  std::copy(room, room + equal, items + less);
  std::reverse_copy(room + greater, room + n, items + less + equal);
  const int64_t* const last = ranks + count;
  const int64_t* const before = std::lower_bound(ranks, last, base + less);
  const int64_t* const behind = std::lower_bound(before, last, base + less + equal);
  Partition(items, room, less, ranks, before - ranks, base);
  Partition(items + less + equal, room, n - less - equal, behind, last - behind, base + less + equal);
}

}  // namespace
