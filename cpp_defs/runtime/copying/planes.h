// Copies along two axes, in the way that suits their strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "turning.h"

namespace {

// Rows and columns of a tile, whose cache lines all fit in the first-level cache.
constexpr int64_t kTileRows = 64, kTileColumns = 32;
// The most bytes that are copied as one item.
constexpr int64_t kLargestItem = 32;
// In place of a stride in items, one that is known at run time only.
constexpr int kAny = 64;

struct Axis {
  int64_t length, to, from;  // strides, in bytes
};

// So many bytes, at any address.
template <int kBytes>
struct __attribute__((packed)) Bytes {
  unsigned char bytes[kBytes];
};

// Copies an element along each row and column; the columns are closer together in the target.
using CopyPlane = void (*)(char* __restrict to, const char* __restrict from, Axis rows, Axis columns);

// Items that are runs of elements are not aligned to their size.
template <typename T>
inline void CopyItem(char* to, const char* from) {
  std::memcpy(to, from, sizeof(T));
}

// Copies one row after another; `kTo` and `kFrom` are the columns' strides, in items.
template <typename T, int kTo, int kFrom>
void CopyRows(char* __restrict to, const char* __restrict from, Axis rows, Axis columns) {
  const int64_t to_step = kTo != kAny ? kTo * static_cast<int64_t>(sizeof(T)) : columns.to;
  const int64_t from_step = kFrom != kAny ? kFrom * static_cast<int64_t>(sizeof(T)) : columns.from;
  for (int64_t row = 0; row < rows.length; ++row, to += rows.to, from += rows.from) {
    for (int64_t i = 0; i < columns.length; ++i) CopyItem<T>(to + i * to_step, from + i * from_step);
  }
}

// Copies rows whose columns are contiguous in both arrays.
void CopyRuns(char* __restrict to, const char* __restrict from, Axis rows, Axis columns) {
  for (int64_t row = 0; row < rows.length; ++row, to += rows.to, from += rows.from) {
    std::memcpy(to, from, static_cast<std::size_t>(columns.length * columns.to));
  }
}

// Copies along `axis` a few items at a time, which lie along `few`. If an array is `Packed`, these follow each other.
template <typename T, int kFew, bool kToPacked, bool kFromPacked>
void CopyFew(char* __restrict to, const char* __restrict from, Axis axis, Axis few) {
  constexpr int64_t kItem = sizeof(T);
  const int64_t to_step = kToPacked ? kFew * kItem : kFromPacked ? kItem : axis.to;
  const int64_t from_step = kFromPacked ? kFew * kItem : kToPacked ? kItem : axis.from;
  const int64_t to_item = kToPacked ? kItem : few.to, from_item = kFromPacked ? kItem : few.from;
  for (int64_t i = 0; i < axis.length; ++i) {
#pragma GCC unroll 8
    for (int k = 0; k < kFew; ++k) CopyItem<T>(to + i * to_step + k * to_item, from + i * from_step + k * from_item);
  }
}

template <typename T, int kFew>
void CopyFewRows(char* __restrict to, const char* __restrict from, Axis rows, Axis columns) {
  CopyFew<T, kFew, false, true>(to, from, columns, rows);
}

// Copies tiles of rows that are contiguous in the source, to columns that are contiguous in the target.
template <typename T>
void CopyTurned(char* __restrict to, const char* __restrict from, Axis rows, Axis columns) {
  constexpr int64_t kItem = sizeof(T), kCount = kSquare<kItem>;
  for (int64_t row = 0; row < rows.length; row += kTileRows) {
    const int64_t last_row = std::min(row + kTileRows, rows.length);
    for (int64_t column = 0; column < columns.length; column += kTileColumns) {
      const int64_t last_column = std::min(column + kTileColumns, columns.length);
      int64_t i = row;
      for (; i + kCount <= last_row; i += kCount) {
        int64_t k = column;
        for (; k + kCount <= last_column; k += kCount) {
          TurnSquare<T>(to + i * rows.to + k * kItem, rows.to, from + i * kItem + k * columns.from, columns.from);
        }
        for (; k < last_column; ++k) {
          for (int64_t j = i; j < i + kCount; ++j) {
            CopyItem<T>(to + j * rows.to + k * kItem, from + j * kItem + k * columns.from);
          }
        }
      }
      for (; i < last_row; ++i) {
        for (int64_t k = column; k < last_column; ++k) {
          CopyItem<T>(to + i * rows.to + k * kItem, from + i * kItem + k * columns.from);
        }
      }
    }
  }
}

// Returns how to copy a few columns or rows, or null.
template <typename T, int kFew>
CopyPlane FewFor(Axis rows, Axis columns) {
  constexpr int64_t kItem = sizeof(T);
  if constexpr (kFew <= 4 && kItem <= 8) {
    const bool is_dense = columns.to == kItem && rows.from == kItem;
    if (is_dense && columns.length == kFew && rows.to == kFew * kItem) return CopyFew<T, kFew, true, false>;
    if (is_dense && rows.length == kFew && columns.from == kFew * kItem) return CopyFewRows<T, kFew>;
  }
  return columns.length == kFew && rows.length > 1 ? CopyFew<T, kFew, false, false> : nullptr;
}

template <typename T>
CopyPlane PlaneOf(Axis rows, Axis columns) {
  constexpr int64_t kItem = sizeof(T);
  for (const CopyPlane few : {FewFor<T, 2>(rows, columns), FewFor<T, 3>(rows, columns), FewFor<T, 4>(rows, columns),
                              FewFor<T, 5>(rows, columns), FewFor<T, 6>(rows, columns), FewFor<T, 7>(rows, columns)}) {
    if (few != nullptr) return few;
  }
  if (columns.to == kItem && columns.from == kItem) return CopyRuns;
  if constexpr (kItem <= 8) {  // Larger items take a vector or more each, whatever the strides.
    if (columns.to == kItem && rows.from == kItem && rows.length >= kSquare<kItem>) return CopyTurned<T>;
    if (columns.to == kItem) {
      switch (columns.from) {
        case 0: return CopyRows<T, 1, 0>;
        case -kItem: return CopyRows<T, 1, -1>;
        case 2 * kItem: return CopyRows<T, 1, 2>;
        case 3 * kItem: return CopyRows<T, 1, 3>;
        case 4 * kItem: return CopyRows<T, 1, 4>;
        default: return CopyRows<T, 1, kAny>;
      }
    }
  }
  return CopyRows<T, kAny, kAny>;
}

CopyPlane PlaneFor(int64_t item, Axis rows, Axis columns) {
  switch (item) {
    case 1: return PlaneOf<uint8_t>(rows, columns);
    case 2: return PlaneOf<uint16_t>(rows, columns);
    case 4: return PlaneOf<uint32_t>(rows, columns);
    case 8: return PlaneOf<uint64_t>(rows, columns);
    case 16: return PlaneOf<Bytes<16>>(rows, columns);
    default: return PlaneOf<Bytes<32>>(rows, columns);
  }
}

}  // namespace
