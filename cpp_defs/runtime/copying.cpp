// Copies arrays with any strides: in whole runs where elements are contiguous, in tiles where axes are transposed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kMaxAxes = 64;
// Rows and columns of a tile, whose cache lines all fit in the first-level cache.
constexpr int64_t kTile = 32;
// Runs of at most this many bytes are copied element by element.
constexpr int64_t kShortRun = 64;

// An element of complex128.
struct Pair {
  uint64_t parts[2];
};

struct Axis {
  int64_t length, to, from;  // strides, in bytes
};

template <typename T>
void CopyStrided(char* to, const char* from, const Axis& axis) {
  const auto copy = [&](int64_t to_step, int64_t from_step) {
    for (int64_t i = 0; i < axis.length; ++i) {
      *reinterpret_cast<T*>(to + i * to_step) = *reinterpret_cast<const T*>(from + i * from_step);
    }
  };
  constexpr int64_t kItem = sizeof(T);
  // Steps that are compile-time constants are vectorized.
  if (axis.to != kItem) return copy(axis.to, axis.from);
  if (axis.from == -kItem) return copy(kItem, -kItem);
  if (axis.from == 0) return copy(kItem, 0);
  if (axis.from == kItem) return copy(kItem, kItem);
  copy(kItem, axis.from);
}

// Copies the last two axes: the second is contiguous in the target, the first in the source.
template <typename T>
void CopyTurned(char* to, const char* from, const Axis& rows, const Axis& columns) {
  for (int64_t row = 0; row < rows.length; row += kTile) {
    const int64_t last_row = std::min(row + kTile, rows.length);
    for (int64_t column = 0; column < columns.length; column += kTile) {
      const Axis part{std::min(kTile, columns.length - column), columns.to, columns.from};
      for (int64_t i = row; i < last_row; ++i) {
        CopyStrided<T>(to + i * rows.to + column * columns.to, from + i * rows.from + column * columns.from, part);
      }
    }
  }
}

template <typename T>
void CopyAxes(char* to, const char* from, const Axis* axes, int n) {
  constexpr int64_t kItem = sizeof(T);
  if (n == 0) {
    *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(from);
    return;
  }
  const Axis& last = axes[n - 1];
  if (n == 1) {
    const bool is_run = last.to == kItem && last.from == kItem && last.length * kItem > kShortRun;
    if (is_run) {
      std::memcpy(to, from, static_cast<std::size_t>(last.length) * kItem);
    } else {
      CopyStrided<T>(to, from, last);
    }
    return;
  }
  if (n == 2 && std::abs(axes[0].from) < std::abs(last.from)) return CopyTurned<T>(to, from, axes[0], last);
  for (int64_t i = 0; i < axes[0].length; ++i) {
    CopyAxes<T>(to + i * axes[0].to, from + i * axes[0].from, axes + 1, n - 1);
  }
}

void CopyAxes(char* to, const char* from, const Axis* axes, int n, int64_t item) {
  switch (item) {
    case 1: return CopyAxes<uint8_t>(to, from, axes, n);
    case 2: return CopyAxes<uint16_t>(to, from, axes, n);
    case 4: return CopyAxes<uint32_t>(to, from, axes, n);
    case 8: return CopyAxes<uint64_t>(to, from, axes, n);
    default: return CopyAxes<Pair>(to, from, axes, n);
  }
}

// The range of bytes of an array, from its first byte to one past its last.
struct Extent {
  std::uintptr_t begin, end;
};
Extent ExtentOf(const char* data, const Axis* axes, int n, int64_t Axis::*stride, int64_t item) {
  int64_t low = 0, high = item;
  for (int i = 0; i < n; ++i) {
    const int64_t last = (axes[i].length - 1) * (axes[i].*stride);
    (last < 0 ? low : high) += last;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return {address + static_cast<std::uintptr_t>(low), address + static_cast<std::uintptr_t>(high)};
}

// Copies all elements; source and target may overlap. Returns false if there is not enough memory.
bool Copy(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides, const int64_t* lengths,
          int n_axes, int64_t item) {
  Axis axes[kMaxAxes];
  int n = 0;
  for (int i = 0; i < n_axes; ++i) {
    if (lengths[i] == 0) return true;
    if (lengths[i] == 1) continue;
    const Axis axis{lengths[i], to_strides[i], from_strides[i]};
    // Merges axes that are contiguous in both arrays.
    if (n > 0 && axes[n - 1].to == axis.to * axis.length && axes[n - 1].from == axis.from * axis.length) {
      axes[n - 1] = {axes[n - 1].length * axis.length, axis.to, axis.from};
    } else {
      axes[n++] = axis;
    }
  }
  const bool is_same = std::all_of(axes, axes + n, [](const Axis& axis) { return axis.to == axis.from; });
  if (is_same && to == from) return true;
  // The axis with the smallest stride in the target comes last; in a transposed copy, that of the source precedes it.
  for (int i = 1; i < n; ++i) {
    for (int k = i; k > 0 && std::abs(axes[k - 1].to) < std::abs(axes[k].to); --k) std::swap(axes[k - 1], axes[k]);
  }
  const auto by_source = [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); };
  if (n > 2 && axes[n - 1].from != 0) {
    Axis* const densest = std::min_element(axes, axes + n - 1, by_source);
    if (densest->from != 0 && std::abs(densest->from) < std::abs(axes[n - 1].from)) {
      std::rotate(densest, densest + 1, axes + n - 1);
    }
  }
  const Extent target = ExtentOf(to, axes, n, &Axis::to, item), source = ExtentOf(from, axes, n, &Axis::from, item);
  if (target.begin >= source.end || source.begin >= target.end) {
    CopyAxes(to, from, axes, n, item);
    return true;
  }
  if (n == 1 && axes[0].to == item && axes[0].from == item) {
    std::memmove(to, from, static_cast<std::size_t>(axes[0].length * item));
    return true;
  }
  Axis into[kMaxAxes], out_of[kMaxAxes];
  int64_t bytes = item;
  for (int i = n - 1; i >= 0; --i) {
    into[i] = {axes[i].length, bytes, axes[i].from};
    out_of[i] = {axes[i].length, axes[i].to, bytes};
    bytes *= axes[i].length;
  }
  auto* const between = static_cast<char*>(std::malloc(static_cast<std::size_t>(bytes)));
  if (between == nullptr) return false;
  CopyAxes(between, from, into, n, item);
  CopyAxes(to, between, out_of, n, item);
  std::free(between);
  return true;
}

}  // namespace

// Copies an array to another of the same shape and dtype, which may overlap. Returns 0 if there is not enough memory.
extern "C" int pk_copy(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides,
                       const int64_t* lengths, int axes, int64_t item) {
  return Copy(to, to_strides, from, from_strides, lengths, axes, item);
}
