// Finds the places of the elements of arrays in sorted order, along an axis. It is compiled as `ordering.cpp` is.
#include "ordering/keys.h"
#include "ordering/lines.h"
#include "ordering/places.h"

#include <algorithm>
#include <cstdint>

namespace {

using Keys = KeysOf<PK_TYPE>;
using Key = Keys::Key;

// Finds the places of the ordered elements of each line: `find(finder, keys, places)`.
template <typename Find>
bool OrderPlaces(const Key* data, int64_t* places, const Shape& shape, const Find& find) {
  const bool is_contiguous = shape.inner == 1, are_keys = is_contiguous && Keys::kAreBits;
  const int64_t n = shape.n, most = std::min(shape.inner, kLines), finder_bytes = PlaceFinder::Size(n);
  const int64_t key_bytes = are_keys ? 0 : most * n * static_cast<int64_t>(sizeof(Key));
  const int64_t found_bytes = is_contiguous ? 0 : most * n * static_cast<int64_t>(sizeof(int64_t));
  Memory memory({key_bytes, found_bytes, finder_bytes});
  if (!memory.exists()) return false;
  auto* const keys = memory.Take<Key>(key_bytes);
  auto* const found = memory.Take<int64_t>(found_bytes);
  const PlaceFinder finder(memory.Take<char>(finder_bytes), n);
  ForEachLines(shape, [&](int64_t first, int64_t width) {
    const Key* const line = data + first;
    if (!is_contiguous) {
      Gather(line, keys, shape, width, Keys::MakeEqual);
      for (int64_t i = 0; i < width; ++i) find(finder, keys + i * n, found + i * n);
      Scatter(found, places + first, shape, width, [](int64_t place) { return place; });
    } else {
      if (!are_keys) std::transform(line, line + n, keys, Keys::MakeEqual);
      find(finder, are_keys ? line : keys, places + first);
    }
  });
  return true;
}

}  // namespace

extern "C" {

// Finds the places of the sorted elements: equal ones in their order, or where NumPy's introsort puts them.
int PK_TYPED(pk_argsort)(const Key* data, int64_t* places, int64_t outer, int64_t n, int64_t inner,
                         int64_t is_stable) {
  return OrderPlaces(data, places, {outer, n, inner}, [=](const PlaceFinder& finder, const Key* keys, int64_t* found) {
    is_stable != 0 ? finder.Find(keys, found) : finder.FindAsIntroSort(keys, found);
  });
}

// Finds places of a partition by elements of the given ranks, which increase and lie within the axis.
int PK_TYPED(pk_argpartition)(const Key* data, int64_t* places, const int64_t* ranks, int64_t count, int64_t outer,
                              int64_t n, int64_t inner) {
  return OrderPlaces(data, places, {outer, n, inner}, [=](const PlaceFinder& finder, const Key* keys, int64_t* found) {
    finder.Find(keys, found, ranks, count);
  });
}

}  // extern "C"
