// Copies arrays with any strides, plane by plane of two axes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "copying/planes.h"

namespace {

constexpr int kMaxAxes = 64;

// The axes of a copy: those longer than 1, in the order in which they lie in the target; those that are contiguous in
// both arrays are merged. The last two form planes, in which the source is read as densely as possible.
struct Copying {
  int n = 0;
  int64_t item;
  Axis axes[kMaxAxes];

  // Adds an axis.
  void Add(const Axis& axis) {
    if (axis.length == 1) return;
    int at = n++;
    for (; at > 0 && std::abs(axes[at - 1].to) < std::abs(axis.to); --at) axes[at] = axes[at - 1];
    axes[at] = axis;
  }

  void Close() {
    int last = 0;
    for (int i = 1; i < n; ++i) {
      const Axis& axis = axes[i];
      Axis& outer = axes[last];
      if (outer.to == axis.to * axis.length && outer.from == axis.from * axis.length) {
        outer = {outer.length * axis.length, axis.to, axis.from};
      } else {
        axes[++last] = axis;
      }
    }
    if (n > 0) n = last + 1;
  }

  // Takes short runs of elements for items, and brings forward the axis that forms planes with the last.
  void FindPlanes() {
    if (n > 0 && axes[n - 1].to == item && axes[n - 1].from == item) {
      const int64_t bytes = axes[n - 1].length * item;
      if (bytes <= kLargestItem && (bytes & (bytes - 1)) == 0) {
        item = bytes;
        --n;
      }
    }
    if (n < 3 || axes[n - 1].from == 0) return;
    const auto by_source = [](const Axis& a, const Axis& b) { return std::abs(a.from) < std::abs(b.from); };
    Axis* const densest = std::min_element(axes, axes + n - 1, by_source);
    if (densest->from != 0 && std::abs(densest->from) < std::abs(axes[n - 1].from)) {
      std::rotate(densest, densest + 1, axes + n - 1);
    }
  }

  void Run(char* to, const char* from) {
    FindPlanes();
    const Axis one{1, 0, 0};
    const Axis rows = n > 1 ? axes[n - 2] : one, columns = n > 0 ? axes[n - 1] : one;
    CopyAll(to, from, std::max(n - 2, 0), PlaneFor(item, rows, columns), rows, columns);
  }

 private:
  void CopyAll(char* to, const char* from, int outer, CopyPlane copy, const Axis& rows, const Axis& columns) const {
    int64_t index[kMaxAxes];
    std::fill_n(index, outer, 0);
    while (true) {
      copy(to, from, rows, columns);
      int i = outer - 1;
      for (; i >= 0; --i) {
        to += axes[i].to;
        from += axes[i].from;
        if (++index[i] < axes[i].length) break;
        to -= axes[i].to * axes[i].length;
        from -= axes[i].from * axes[i].length;
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }
};

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
  Copying copying;
  copying.item = item;
  for (int i = 0; i < n_axes; ++i) {
    if (lengths[i] == 0) return true;
    copying.Add({lengths[i], to_strides[i], from_strides[i]});
  }
  copying.Close();
  const int n = copying.n;
  const Axis* const axes = copying.axes;
  const bool is_same = std::all_of(axes, axes + n, [](const Axis& axis) { return axis.to == axis.from; });
  if (is_same && to == from) return true;
  const Extent target = ExtentOf(to, axes, n, &Axis::to, item), source = ExtentOf(from, axes, n, &Axis::from, item);
  if (target.begin >= source.end || source.begin >= target.end) {
    copying.Run(to, from);
    return true;
  }
  if (n == 1 && axes[0].to == item && axes[0].from == item) {
    std::memmove(to, from, static_cast<std::size_t>(axes[0].length * item));
    return true;
  }
  Copying into = copying, out_of = copying;
  int64_t bytes = item;
  for (int i = n - 1; i >= 0; --i) {
    into.axes[i].to = out_of.axes[i].from = bytes;
    bytes *= axes[i].length;
  }
  auto* const between = static_cast<char*>(std::malloc(static_cast<std::size_t>(bytes)));
  if (between == nullptr) return false;
  into.Run(between, from);
  out_of.Run(to, between);
  std::free(between);
  return true;
}

}  // namespace

// Copies an array to another of the same shape and dtype, which may overlap. Returns 0 if there is not enough memory.
extern "C" int pk_copy(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides,
                       const int64_t* lengths, int axes, int64_t item) {
  return Copy(to, to_strides, from, from_strides, lengths, axes, item);
}

// Copies an array to another of the same shape and dtype, which does not overlap.
extern "C" void pk_copy_apart(char* to, const int64_t* to_strides, const char* from, const int64_t* from_strides,
                              const int64_t* lengths, int axes, int64_t item) {
  Copying copying;
  copying.item = item;
  for (int i = 0; i < axes; ++i) copying.Add({lengths[i], to_strides[i], from_strides[i]});
  copying.Close();
  copying.Run(to, from);
}
