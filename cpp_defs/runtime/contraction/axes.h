// The axes of a contraction, out[i..., j...] = sum over k... of a[i..., k...] * b[j..., k...], and loops over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace contraction {

constexpr int kMaxAxes = 64;

// An axis: its length, and its stride in each array, in bytes; 0 in an array that lacks the axis.
struct Axis {
  int64_t length, out, a, b;
  bool is_summed;
};

struct Places {
  char* out;
  const char* a;
  const char* b;

  void Move(const Axis& axis, int64_t steps) {
    out += axis.out * steps;
    a += axis.a * steps;
    b += axis.b * steps;
  }
};

struct Axes {
  int n = 0;
  Axis list[kMaxAxes];

  Axis* begin() { return list; }
  Axis* end() { return list + n; }
  void Add(const Axis& axis) { list[n++] = axis; }
  void Remove(const Axis* axis) {
    std::copy(list + (axis - list) + 1, end(), list + (axis - list));
    --n;
  }

  // Sorts the axes by their strides in the result, and the summed ones, which come last, by those in the operands.
  // Merges neighbours that are one axis in all arrays.
  void Simplify() {
    const auto comes_first = [](const Axis& x, const Axis& y) {
      if (x.is_summed != y.is_summed) return y.is_summed;
      if (x.out != y.out) return std::abs(x.out) > std::abs(y.out);
      return std::abs(x.a) != std::abs(y.a) ? std::abs(x.a) > std::abs(y.a) : std::abs(x.b) > std::abs(y.b);
    };
    std::sort(begin(), end(), comes_first);
    int kept = 0;
    for (const Axis axis : *this) {
      Axis* const last = kept > 0 ? &list[kept - 1] : nullptr;
      if (last != nullptr && last->is_summed == axis.is_summed && last->out == axis.out * axis.length &&
          last->a == axis.a * axis.length && last->b == axis.b * axis.length) {
        *last = {last->length * axis.length, axis.out, axis.a, axis.b, axis.is_summed};
      } else {
        list[kept++] = axis;
      }
    }
    n = kept;
  }

  // Calls `visit(places, is_more)` at each index; `is_more` says whether a result has been written there before.
  template <typename Visit>
  void ForEach(Places places, const Visit& visit) const {
    int64_t index[kMaxAxes] = {};
    bool is_more = false;
    for (int at = n; at >= 0;) {
      visit(places, is_more);
      for (at = n - 1; at >= 0; --at) {
        places.Move(list[at], 1);
        if (++index[at] < list[at].length) break;
        places.Move(list[at], -list[at].length);
        index[at] = 0;
      }
      is_more = at >= 0 && list[at].is_summed;
    }
  }
};

}  // namespace contraction
