// Sorts and partitions arrays along an axis, and finds the places of their elements in sorted order.
//
// The functions at the end take contiguous arrays of the shape (outer, n, inner) and order them along the second axis.
// They return 0 if there is not enough memory. The file is compiled for one dtype at a time: `PK_TYPE` is its C++ type,
// and `PK_TYPED` makes the names of the functions for it.
#include "ordering/keys.h"
#include "ordering/selecting.h"
#include "ordering/sorting.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace {

// The number of neighbouring lines that are read and written at once.
constexpr int64_t kLines = 16;

struct Shape {
  int64_t outer, n, inner;
};

// Orders each line: `load` makes an item from an offset and a place, and `store` takes an offset and an item.
template <typename Item, typename Load, typename Order, typename Store>
bool OrderLines(const Shape& shape, const Load& load, const Order& order, const Store& store) {
  const int64_t n = shape.n, inner = shape.inner, most = std::min(inner, kLines);
  if (shape.outer == 0 || n == 0 || inner == 0) return true;
  auto* const items = static_cast<Item*>(std::malloc(static_cast<std::size_t>(n * (most + 1)) * sizeof(Item)));
  if (items == nullptr) return false;
  for (int64_t begin = 0; begin < shape.outer * n * inner; begin += n * inner) {
    for (int64_t first = begin; first < begin + inner; first += kLines) {
      const int64_t width = std::min(kLines, begin + inner - first);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t line = 0; line < width; ++line) items[line * n + i] = load(first + i * inner + line, i);
      }
      for (int64_t line = 0; line < width; ++line) order(items + line * n, items + most * n);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t line = 0; line < width; ++line) store(first + i * inner + line, items[line * n + i]);
      }
    }
  }
  std::free(items);
  return true;
}

template <typename T, typename Order>
bool OrderNumbers(T* data, const Shape& shape, const Order& order) {
  using Keys = KeysOf<T>;
  using Item = Alone<typename Keys::Key>;
  return OrderLines<Item>(
      shape, [=](int64_t at, int64_t) { return Item{Keys::Make(data[at])}; }, order,
      [=](int64_t at, const Item& item) { data[at] = Keys::Restore(item.key); });
}

template <typename Item, typename T, typename Order>
bool OrderPlacedItems(const T* data, int64_t* places, const Shape& shape, const Order& order) {
  return OrderLines<Item>(
      shape,
      [=](int64_t at, int64_t i) {
        return Item{typename Item::Key(KeysOf<T>::MakeEqual(data[at])), static_cast<decltype(Item::place)>(i)};
      },
      order, [=](int64_t at, const Item& item) { places[at] = static_cast<int64_t>(item.place); });
}

template <typename T, typename Order>
bool OrderPlaces(const T* data, int64_t* places, const Shape& shape, const Order& order) {
  if (shape.n > std::numeric_limits<uint32_t>::max()) {
    return OrderPlacedItems<Placed<uint64_t>>(data, places, shape, order);
  }
  return OrderPlacedItems<Placed<typename KeysOf<T>::Key>>(data, places, shape, order);
}

using Number = std::conditional_t<std::is_same_v<PK_TYPE, bool>, uint8_t, PK_TYPE>;

int DepthOf(int64_t n) {
  int depth = 0;
  while (n >>= 1) depth += 2;
  return depth;
}

}  // namespace

extern "C" {

int PK_TYPED(pk_sort)(Number* data, int64_t outer, int64_t n, int64_t inner) {
  return OrderNumbers(data, {outer, n, inner}, [=](auto* items, auto* room) { StableSort(items, room, n); });
}

// Finds the places of the sorted elements: equal ones in their order, or where NumPy's introsort puts them.
int PK_TYPED(pk_argsort)(const Number* data, int64_t* places, int64_t outer, int64_t n, int64_t inner,
                         int64_t is_stable) {
  return OrderPlaces(data, places, {outer, n, inner}, [=](auto* items, auto* room) {
    is_stable != 0 ? StableSort(items, room, n) : IntroSort(items, room, n, DepthOf(n));
  });
}

// Partitions by elements of the given ranks, which increase and lie within the axis.
int PK_TYPED(pk_partition)(Number* data, const int64_t* ranks, int64_t count, int64_t outer, int64_t n,
                           int64_t inner) {
  const auto order = [=](auto* items, auto* room) { Partition(items, room, n, ranks, count, 0); };
  return OrderNumbers(data, {outer, n, inner}, order);
}

int PK_TYPED(pk_argpartition)(const Number* data, int64_t* places, const int64_t* ranks, int64_t count, int64_t outer,
                              int64_t n, int64_t inner) {
  const auto order = [=](auto* items, auto* room) { Partition(items, room, n, ranks, count, 0); };
  return OrderPlaces(data, places, {outer, n, inner}, order);
}

}  // extern "C"
