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

// NumPy's function for this dtype, where it is quicker (kernel/numpy_sorting.py); else null.
int (*numpy_sort)(void* line, std::intptr_t n, void* array);

// Orders each line, `order(line)`, as numbers or as keys. Contiguous lines become keys in place.
template <bool kAsKeys, typename Order>
bool OrderLines(Key* data, const Shape& shape, const Order& order) {
  constexpr bool kIsKept = !kAsKeys || Keys::kAreBits;
  const auto make = [](Key bits) { return kIsKept ? bits : Keys::Make(bits); };
  const auto restore = [](Key key) { return kIsKept ? key : Keys::Restore(key); };
  const int64_t n = shape.n, gathered = shape.inner == 1 ? 0 : std::min(shape.inner, kLines) * n;
  Memory memory({gathered * static_cast<int64_t>(sizeof(Key))});
  if (!memory.exists()) return false;
  auto* const lines = memory.Take<Key>(0);
  bool is_done = true;
  ForEachLines(shape, [&](int64_t first, int64_t width) {
    Key* const line = data + first;
    if (gathered > 0) {
      Gather(line, lines, shape, width, make);
      for (int64_t i = 0; i < width; ++i) is_done &= order(lines + i * n);
      Scatter(lines, line, shape, width, restore);
    } else {
      if (!kIsKept) std::transform(line, line + n, line, make);
      is_done &= order(line);
      if (!kIsKept) std::transform(line, line + n, line, restore);
    }
  });
  return is_done;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void PK_TYPED(pk_kernel_use_numpy_sort)(decltype(numpy_sort) function) {
  numpy_sort = function;
}

int PK_TYPED(pk_sort)(Key* data, int64_t outer, int64_t n, int64_t inner) {
  const Shape shape = {outer, n, inner};
  if (numpy_sort != nullptr) {
    return OrderLines<false>(data, shape, [=](Key* line) { return numpy_sort(line, n, nullptr) >= 0; });
  }
  return OrderLines<true>(data, shape, [=](Key* keys) { return Sort(keys, n), true; });
}

// Partitions by elements of the given ranks, which increase and lie within the axis.
int PK_TYPED(pk_partition)(Key* data, const int64_t* ranks, int64_t count, int64_t outer, int64_t n,
                           int64_t inner) {
  return OrderLines<true>(data, {outer, n, inner}, [=](Key* keys) { return Partition(keys, n, ranks, count), true; });
}

}  // extern "C"
