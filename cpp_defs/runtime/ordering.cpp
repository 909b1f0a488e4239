// Sorts and partitions arrays along an axis.
//
// The functions at the end take contiguous arrays of the shape (outer, n, inner) and order them along the second axis.
// They return 0 if there is not enough memory. The file is compiled for one dtype at a time: `PK_TYPE` is its C++ type,
// and `PK_TYPED` makes the names of the functions for it.
#include "ordering/keys.h"
#include "ordering/lines.h"
#include "ordering/sorting.h"

#include <algorithm>
#include <cstdint>

namespace {

using Keys = KeysOf<PK_TYPE>;
using Key = Keys::Key;

// Orders each line: `order(keys, room)`. Contiguous lines become keys in place.
template <typename Order>
bool OrderNumbers(Key* data, const Shape& shape, const Order& order) {
  const int64_t n = shape.n, gathered = shape.inner == 1 ? 0 : std::min(shape.inner, kLines) * n;
  const int64_t key_bytes = gathered * static_cast<int64_t>(sizeof(Key));
  const int64_t room_bytes = Room<Key>::Size(n) * static_cast<int64_t>(sizeof(Key));
  Memory memory({key_bytes, room_bytes});
  if (!memory.exists()) return false;
  auto* const keys = memory.Take<Key>(key_bytes);
  const Room<Key> room(memory.Take<Key>(room_bytes), n);
  ForEachLines(shape, [&](int64_t first, int64_t width) {
    Key* const line = data + first;
    if (gathered > 0) {
      Gather(line, keys, shape, width, Keys::Make);
      for (int64_t i = 0; i < width; ++i) order(keys + i * n, room);
      Scatter(keys, line, shape, width, Keys::Restore);
    } else {
      if (!Keys::kAreBits) std::transform(line, line + n, line, Keys::Make);
      order(line, room);
      if (!Keys::kAreBits) std::transform(line, line + n, line, Keys::Restore);
    }
  });
  return true;
}

}  // namespace

extern "C" {

int PK_TYPED(pk_sort)(Key* data, int64_t outer, int64_t n, int64_t inner) {
  return OrderNumbers(data, {outer, n, inner}, [=](Key* keys, const Room<Key>& room) { Sort(keys, room, n); });
}

// Partitions by elements of the given ranks, which increase and lie within the axis.
int PK_TYPED(pk_partition)(Key* data, const int64_t* ranks, int64_t count, int64_t outer, int64_t n,
                           int64_t inner) {
  return OrderNumbers(data, {outer, n, inner},
                      [=](Key* keys, const Room<Key>& room) { Partition(keys, room, n, ranks, count); });
}

}  // extern "C"
