// Sorts and partitions arrays along an axis, and finds the places of their elements in sorted order.
//
// The functions at the end take contiguous arrays of the shape (outer, n, inner) and order them along the second axis.
// They return 0 if there is not enough memory.
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

// Calls a function with the data of an array, typed by NumPy's letter for its dtype.
template <typename Data, typename Function>
int WithType(Data* data, int64_t dtype, const Function& function) {
  const auto typed = [&](auto number) {
    using T = std::conditional_t<std::is_const_v<Data>, const decltype(number), decltype(number)>;
    return function(reinterpret_cast<T*>(data));
  };
  switch (dtype) {
    case '?': case 'B': return typed(uint8_t{});
    case 'b': return typed(int8_t{});
    case 'h': return typed(int16_t{});
    case 'H': return typed(uint16_t{});
    case 'i': return typed(int32_t{});
    case 'I': return typed(uint32_t{});
    case 'l': case 'q': return typed(int64_t{});
    case 'L': case 'Q': return typed(uint64_t{});
    case 'f': return typed(float{});
    default: return typed(double{});
  }
}

int DepthOf(int64_t n) {
  int depth = 0;
  while (n >>= 1) depth += 2;
  return depth;
}

}  // namespace

extern "C" {

int pk_sort(char* data, int64_t outer, int64_t n, int64_t inner, int64_t dtype) {
  const auto order = [=](auto* items, auto* room) { StableSort(items, room, n); };
  return WithType(data, dtype, [&](auto* numbers) { return OrderNumbers(numbers, {outer, n, inner}, order); });
}

// Finds the places of the sorted elements: equal ones in their order, or where NumPy's introsort puts them.
int pk_argsort(const char* data, int64_t* places, int64_t outer, int64_t n, int64_t inner, int64_t dtype,
               int64_t is_stable) {
  const auto order = [=](auto* items, auto* room) {
    is_stable != 0 ? StableSort(items, room, n) : IntroSort(items, room, n, DepthOf(n));
  };
  return WithType(data, dtype, [&](auto* numbers) { return OrderPlaces(numbers, places, {outer, n, inner}, order); });
}

// Partitions by elements of the given ranks, which increase and lie within the axis.
int pk_partition(char* data, const int64_t* ranks, int64_t count, int64_t outer, int64_t n, int64_t inner,
                 int64_t dtype) {
  const auto order = [=](auto* items, auto* room) { Partition(items, room, n, ranks, count, 0); };
  return WithType(data, dtype, [&](auto* numbers) { return OrderNumbers(numbers, {outer, n, inner}, order); });
}

int pk_argpartition(const char* data, int64_t* places, const int64_t* ranks, int64_t count, int64_t outer, int64_t n,
                    int64_t inner, int64_t dtype) {
  const auto order = [=](auto* items, auto* room) { Partition(items, room, n, ranks, count, 0); };
  return WithType(data, dtype, [&](auto* numbers) { return OrderPlaces(numbers, places, {outer, n, inner}, order); });
}

}  // extern "C"
