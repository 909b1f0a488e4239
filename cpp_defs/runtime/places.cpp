// Finds the places of the elements of arrays in sorted order, along an axis. It is compiled as `ordering.cpp` is.
#include "ordering/keys.h"
#include "ordering/lines.h"
#include "ordering/places.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace {

using Keys = KeysOf<PK_TYPE>;
using Key = Keys::Key;

// Finds the places of the ordered elements of each line: `find(line, keys, places)`, with memory for its keys.
template <typename Find>
bool OrderPlaces(const Key* data, int64_t* places, const Shape& shape, const Find& find) {
  const bool is_contiguous = shape.inner == 1;
  const int64_t n = shape.n, gathered = is_contiguous ? 0 : std::min(shape.inner, kLines) * n;
  const int64_t key_bytes = Keys::kAreBits ? 0 : n * static_cast<int64_t>(sizeof(Key));
  const int64_t line_bytes = gathered * static_cast<int64_t>(sizeof(Key));
  const int64_t found_bytes = gathered * static_cast<int64_t>(sizeof(int64_t));
  Memory memory({key_bytes, line_bytes, found_bytes});
  if (!memory.exists()) return false;
  auto *const keys = memory.Take<Key>(key_bytes), *const lines = memory.Take<Key>(line_bytes);
  auto* const found = memory.Take<int64_t>(found_bytes);
  ForEachLines(shape, [&](int64_t first, int64_t width) {
    if (is_contiguous) return find(data + first, keys, places + first);
    Gather(data + first, lines, shape, width, [](Key bits) { return bits; });
    for (int64_t i = 0; i < width; ++i) find(lines + i * n, keys, found + i * n);
    Scatter(found, places + first, shape, width, [](int64_t place) { return place; });
  });
  return true;
}

// Returns the keys of a line, which are the same for equal elements.
const Key* KeysIn(const Key* line, Key* keys, int64_t n) {
  if (Keys::kAreBits) return line;
  std::transform(line, line + n, keys, Keys::MakeEqual);
  return keys;
}

bool HasEqual(const Key* keys, const int64_t* places, int64_t n) {
  bool has_equal = false;
  for (int64_t i = 1; i < n; ++i) has_equal |= keys[places[i - 1]] == keys[places[i]];
  return has_equal;
}

// The elements of a line that most likely has no equal ones: ours takes a third of the time of NumPy's function.
constexpr int64_t kShort = 1024;

// NumPy's function for this dtype (kernel/numpy_sorting.py); null without Python. It takes places in any order, and
// returns a negative number if there is not enough memory.
int (*numpy_argsort)(const void* line, std::intptr_t* places, std::intptr_t n, void* array);

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void PK_TYPED(pk_kernel_use_numpy_argsort)(decltype(numpy_argsort) function) {
  numpy_argsort = function;
}

// Finds the places of the sorted elements: equal ones in their order, or where NumPy puts them.
int PK_TYPED(pk_argsort)(const Key* data, int64_t* places, int64_t outer, int64_t n, int64_t inner,
                         int64_t is_stable) {
  const bool is_ours = is_stable != 0 || numpy_argsort == nullptr;
  bool has_equal = n > kShort, is_done = true;  // from the first line with equal elements on
  const auto find = [&](const Key* line, Key* room, int64_t* found) {
    if (is_ours || !has_equal) {
      const Key* const keys = KeysIn(line, room, n);
      FindPlaces(keys, found, n);
      if (is_ours || !(has_equal = HasEqual(keys, found, n))) return;
    }
    std::iota(found, found + n, 0);
    is_done = is_done && numpy_argsort(line, found, n, nullptr) >= 0;
  };
  return OrderPlaces(data, places, {outer, n, inner}, find) && is_done;
}

// Finds places of a partition by elements of the given ranks, which increase and lie within the axis.
int PK_TYPED(pk_argpartition)(const Key* data, int64_t* places, const int64_t* ranks, int64_t count, int64_t outer,
                              int64_t n, int64_t inner) {
  const auto find = [=](const Key* line, Key* room, int64_t* found) {
    FindPlaces(KeysIn(line, room, n), found, n, ranks, count);
  };
  return OrderPlaces(data, places, {outer, n, inner}, find);
}

}  // extern "C"
