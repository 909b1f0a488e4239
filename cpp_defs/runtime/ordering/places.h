// Finds the places of keys in sorted order, by sorting integers that have a key in their upper bits, its place below.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

extern "C" {
// Of ordering.cpp, as compiled for int64. They fail for lack of memory, which contiguous lines do not need.
int pk_sort_int64(int64_t* data, int64_t outer, int64_t n, int64_t inner);
int pk_partition_int64(int64_t* data, const int64_t* ranks, int64_t count, int64_t outer, int64_t n, int64_t inner);
}

namespace {

inline int BitsOf(uint64_t number) { return number == 0 ? 0 : 64 - __builtin_clzll(number); }

// Packs keys with their places, without the last bits of the keys if they have too many.
class Packing {
 public:
  template <typename Key>
  Packing(const Key* keys, int64_t n) {
    if constexpr (sizeof(Key) <= 4) {  // all bits fit
      least_ = static_cast<uint64_t>(std::numeric_limits<Key>::min());
      place_bits_ = 32, dropped_ = 0;
      return;
    }
    Key low = keys[0], high = keys[0];
    for (int64_t i = 0; i < n; ++i) {
      low = std::min(low, keys[i]);
      high = std::max(high, keys[i]);
    }
    least_ = static_cast<uint64_t>(low);
    place_bits_ = BitsOf(static_cast<uint64_t>(n - 1));
    dropped_ = std::max(0, BitsOf(static_cast<uint64_t>(high) - least_) + place_bits_ - 64);
  }

  bool is_exact() const { return dropped_ == 0; }
  int64_t Pack(int64_t key, int64_t place) const { return Join(Above(key) >> dropped_, place); }
  int64_t PlaceOf(int64_t item) const { return item & ((int64_t{1} << place_bits_) - 1); }

  // Sorts neighbours that are equal but for the bits that were dropped, of keys and places, which fit without the rest.
  template <typename Key>
  void SortNear(const Key* keys, int64_t* items, int64_t n) const {
    const uint64_t mask = (uint64_t{1} << dropped_) - 1;
    for (int64_t i = 0, end = 1; i < n; i = end++) {
      while (end < n && items[i] >> place_bits_ == items[end] >> place_bits_) ++end;
      if (end - i == 1) continue;
      for (int64_t k = i; k < end; ++k) {
        const int64_t place = PlaceOf(items[k]);
        items[k] = Join(Above(keys[place]) & mask, place);
      }
      pk_sort_int64(items + i, 1, end - i, 1);
    }
  }

 private:
  uint64_t Above(int64_t key) const { return static_cast<uint64_t>(key) - least_; }
  int64_t Join(uint64_t key, int64_t place) const {
    const uint64_t item = key << place_bits_ | static_cast<uint64_t>(place);
    return static_cast<int64_t>(item ^ uint64_t{1} << 63);
  }

  uint64_t least_;
  int place_bits_, dropped_;
};

// Finds the places of a partition by the key of one rank: those of lesser keys, of equal ones, and of greater ones.
template <typename Key>
void FindBeside(const Key* keys, int64_t* places, int64_t n, int64_t rank) {
  std::copy(keys, keys + n, places);
  pk_partition_int64(places, &rank, 1, 1, n, 1);
  const int64_t key = places[rank];
  int64_t low = 0, high = n;  // between them is room for the places that are left
  for (int64_t i = 0; i < n; ++i) {
    places[low] = places[high - 1] = i;
    const bool is_lesser = keys[i] < key;
    low += is_lesser;
    high -= !is_lesser;
  }
  for (; high < n; ++high) {
    if (keys[places[high]] == key) std::swap(places[low++], places[high]);
  }
}

template <typename Key>
void FindByComparing(const Key* keys, int64_t* places, int64_t n) {
  std::iota(places, places + n, 0);
  std::sort(places, places + n, [keys](int64_t i, int64_t k) {
    return keys[i] != keys[k] ? keys[i] < keys[k] : i < k;
  });
}

// Finds the places of all keys in order, equal ones in theirs; given ranks, which increase, those of a partition.
template <typename Key>
void FindPlaces(const Key* keys, int64_t* places, int64_t n, const int64_t* ranks = nullptr, int64_t count = 0) {
  // Integers of 64 bits have room for the places of this many keys, and for as many bits of the keys as are dropped.
  constexpr int64_t kMost = int64_t{1} << 32;
  if (n > kMost) return FindByComparing(keys, places, n);
  const Packing packing(keys, n);
  if (count == 1 && !packing.is_exact()) return FindBeside(keys, places, n, *ranks);
  for (int64_t i = 0; i < n; ++i) places[i] = packing.Pack(keys[i], i);
  if (count > 0 && packing.is_exact()) {
    pk_partition_int64(places, ranks, count, 1, n, 1);
  } else {
    pk_sort_int64(places, 1, n, 1);
    if (!packing.is_exact()) packing.SortNear(keys, places, n);
  }
  for (int64_t i = 0; i < n; ++i) places[i] = packing.PlaceOf(places[i]);
}

}  // namespace
