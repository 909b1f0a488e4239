// Sums of products in loops: of all dtypes and strides, and of matrices that are too small for BLAS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "axes.h"

extern "C" int numba_xxdot(char kind, char conjugate, std::intptr_t n, const void* x, const void* y, void* result);

namespace contraction {

// What is added and multiplied: numbers, integers modulo their size, or flags.
struct Numbers {
  template <typename V>
  static V Sum(V x, V y) {
    return static_cast<V>(x + y);
  }
  template <typename V>
  static V Product(V x, V y) {
    if constexpr (std::is_integral_v<V>) {
      return static_cast<V>(uint64_t{x} * y);  // the product of two uint16_t would be one of `int`, which overflows
    } else {
      return x * y;
    }
  }
};
struct Flags {
  template <typename V>
  static V Sum(V x, V y) {
    return x | y;
  }
  template <typename V>
  static V Product(V x, V y) {
    return x & y;
  }
};

template <typename T, typename Ring>
struct Loops {
  static constexpr int64_t kItem = sizeof(T);
#ifdef __AVX2__
  static constexpr int kVectorBytes = 32;
#else
  static constexpr int kVectorBytes = 16;
#endif
  static constexpr int kLanes = kVectorBytes / sizeof(T);
  typedef T Vector __attribute__((vector_size(kVectorBytes)));
  // Vectors of results that stay in registers, the length from which BLAS computes an inner product, and the length of
  // an axis that is worth a loop of its own.
  static constexpr int kVectors = 8;
  static constexpr int64_t kLong = 1024, kWide = 8;

  template <typename V, bool kIsOne>
  static V Load(const char* from) {
    V value;
    if constexpr (kIsOne && !std::is_same_v<V, T>) {
      const T one = Load<T, true>(from);
      for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) value[i] = one;
    } else {
      std::memcpy(&value, from, sizeof(V));
    }
    return value;
  }

  // Returns products of contiguous elements, at an offset; a or b may have one element for all of them.
  template <typename V, bool kOneOfA, bool kOneOfB>
  static V Product(const Places& at, int64_t offset) {
    const V a = Load<V, kOneOfA>(at.a + (kOneOfA ? 0 : offset)), b = Load<V, kOneOfB>(at.b + (kOneOfB ? 0 : offset));
    return Ring::Product(a, b);
  }

  // Computes kCount vectors of results, the sums of products over an axis.
  template <typename V, int kCount, bool kOneOfA, bool kOneOfB>
  static void Block(Places at, int64_t out_step, const Axis& summed, bool is_more) {
    constexpr int64_t kBytes = sizeof(V);
    V sums[kCount];
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) sums[i] = Product<V, kOneOfA, kOneOfB>(at, i * kBytes);
    for (int64_t k = 1; k < summed.length; ++k) {
      at.a += summed.a;
      at.b += summed.b;
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) sums[i] = Ring::Sum(sums[i], Product<V, kOneOfA, kOneOfB>(at, i * kBytes));
    }
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      if (out_step == kItem && !is_more) {
        std::memcpy(at.out + i * kBytes, &sums[i], kBytes);
      } else {
        T results[kBytes / kItem];
        std::memcpy(results, &sums[i], kBytes);
        for (int64_t lane = 0; lane < kBytes / kItem; ++lane) {
          Write(at.out + (i * (kBytes / kItem) + lane) * out_step, results[lane], is_more);
        }
      }
    }
  }

  static void Write(char* out, T result, bool is_more) {
    T& place = *reinterpret_cast<T*>(out);
    place = is_more ? Ring::Sum(place, result) : result;
  }

  // Computes results along an axis that is contiguous in a, in b or in both: blocks of as many vectors as fit.
  template <int kCount, bool kOneOfA, bool kOneOfB>
  static void Columns(Places at, const Axis& columns, const Axis& summed, bool is_more) {
    using V = std::conditional_t<kCount == 0, T, Vector>;
    constexpr int64_t kStep = kCount == 0 ? 1 : kCount * static_cast<int64_t>(sizeof(V)) / kItem;
    Axis rest = columns;
    for (; rest.length >= kStep; rest.length -= kStep, at.Move(columns, kStep)) {
      Block<V, std::max(kCount, 1), kOneOfA, kOneOfB>(at, columns.out, summed, is_more);
    }
    if constexpr (kCount > 0) Columns<kCount / 2, kOneOfA, kOneOfB>(at, rest, summed, is_more);
  }

  // Computes products along an axis, without a sum.
  static void Multiply(const Places& at, const Axis& axis) {
    const auto multiply = [&](int64_t out_step, int64_t a_step, int64_t b_step) {
#pragma GCC ivdep
      for (int64_t i = 0; i < axis.length; ++i) {
        const T a = *reinterpret_cast<const T*>(at.a + i * a_step), b = *reinterpret_cast<const T*>(at.b + i * b_step);
        *reinterpret_cast<T*>(at.out + i * out_step) = Ring::Product(a, b);
      }
    };
    // Steps that are compile-time constants are vectorized.
    if (axis.out != kItem) return multiply(axis.out, axis.a, axis.b);
    if (axis.a == kItem && axis.b == kItem) return multiply(kItem, kItem, kItem);
    if (axis.a == kItem && axis.b == 0) return multiply(kItem, kItem, 0);
    if (axis.a == 0 && axis.b == kItem) return multiply(kItem, 0, kItem);
    if (axis.a == kItem) return multiply(kItem, kItem, axis.b);
    multiply(kItem, axis.a, axis.b);
  }

  // Returns the sum over an axis, in vectors, of contiguous elements of a and of as many of b, or one.
  template <bool kOneOfB>
  static T SumInVectors(const Places& at, int64_t length) {
    const auto product = [&](int64_t k) { return Product<Vector, false, kOneOfB>(at, k * kItem); };
    constexpr int kCount = 4;
    Vector sums[kCount] = {};
    int64_t k = 0;
    for (; k + kCount * kLanes <= length; k += kCount * kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) sums[i] = Ring::Sum(sums[i], product(k + i * kLanes));
    }
    for (; k + kLanes <= length; k += kLanes) sums[0] = Ring::Sum(sums[0], product(k));
    const Vector sum = Ring::Sum(Ring::Sum(sums[0], sums[1]), Ring::Sum(sums[2], sums[3]));
    T total = SumOfLanes<kLanes / 2>(sum)[0];
    for (; k < length; ++k) total = Ring::Sum(total, Product<T, false, kOneOfB>(at, k * kItem));
    return total;
  }

  // Adds each lane to the one at a distance, then at half of that, until the first lane is the sum of all.
  template <int kDistance>
  static __attribute__((always_inline)) Vector SumOfLanes(Vector lanes) {
    if constexpr (kDistance == 0) {
      return lanes;
    } else {
      const Vector others = Moved<kDistance>(lanes, std::make_integer_sequence<int, kLanes>());
      return SumOfLanes<kDistance / 2>(Ring::Sum(lanes, others));
    }
  }
  template <int kDistance, int... kLane>
  static __attribute__((always_inline)) Vector Moved(Vector lanes, std::integer_sequence<int, kLane...>) {
#ifdef __clang__
    return __builtin_shufflevector(lanes, lanes, (kLane ^ kDistance)...);
#else
    using Narrow = std::conditional_t<kItem == 1, int8_t, int16_t>;
    using Wide = std::conditional_t<kItem == 4, int32_t, int64_t>;
    using Place = std::conditional_t<kItem < 4, Narrow, Wide>;
    typedef Place Order __attribute__((vector_size(kVectorBytes)));
    return __builtin_shuffle(lanes, Order{Place(kLane ^ kDistance)...});
#endif
  }

  // Returns the sum over an axis of any strides, computed as several partial sums.
  static T Sum(const Places& at, const Axis& summed) {
    constexpr int kCount = 4;
    const auto product = [&](int64_t k) {
      return Ring::Product(Load<T, false>(at.a + k * summed.a), Load<T, false>(at.b + k * summed.b));
    };
    T sums[kCount] = {};
    int64_t k = 0;
    for (; k + kCount <= summed.length; k += kCount) {
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) sums[i] = Ring::Sum(sums[i], product(k + i));
    }
    for (; k < summed.length; ++k) sums[0] = Ring::Sum(sums[0], product(k));
    return Ring::Sum(Ring::Sum(sums[0], sums[1]), Ring::Sum(sums[2], sums[3]));
  }

  static T Dot(const Places& at, const Axis& summed) {
    if (summed.a != kItem || (summed.b != kItem && summed.b != 0)) return Sum(at, summed);
    if (summed.b == 0) return SumInVectors<true>(at, summed.length);
    if constexpr (std::is_floating_point_v<T>) {
      if (summed.length >= kLong && summed.length <= INT32_MAX) {
        T result;
        numba_xxdot(kItem == 4 ? 's' : 'd', 'n', summed.length, at.a, at.b, &result);
        return result;
      }
    }
    return SumInVectors<false>(at, summed.length);
  }

  static bool IsContiguous(const Axis& axis) {
    const bool in_a = axis.a == kItem, in_b = axis.b == kItem;
    return (in_a || axis.a == 0) && (in_b || axis.b == 0) && (in_a || in_b);
  }

  static void Run(const Places& places, Axes axes) {
    const auto shorter = [](const Axis& x, const Axis& y) { return x.length < y.length; };
    if (axes.n > 0 && !axes.end()[-1].is_summed) {
      // No axis is summed. The last one is the densest in the result.
      Axis* const longest = std::max_element(axes.begin(), axes.end(), shorter);
      Axis* const place = axes.end()[-1].length < kWide ? longest : axes.end() - 1;
      const Axis axis = *place;
      axes.Remove(place);
      return axes.ForEach(places, [&](const Places& at, bool) { Multiply(at, axis); });
    }
    // Sum over a contiguous axis if there is one, otherwise over the last one.
    Axis summed{1, 0, 0, 0, true};
    Axis* place = std::find_if(axes.begin(), axes.end(), [](const Axis& x) { return x.is_summed && IsContiguous(x); });
    if (place == axes.end() && axes.n > 0 && axes.end()[-1].is_summed) place = axes.end() - 1;
    if (place != axes.end()) {
      summed = *place;
      axes.Remove(place);
    }
    Axis columns{1, 0, 0, 0, false};
    Axis *longest = nullptr, *widest = nullptr;
    for (Axis& axis : axes) {
      if (axis.is_summed) continue;
      if (longest == nullptr || shorter(*longest, axis)) longest = &axis;
      if (IsContiguous(axis) && (widest == nullptr || shorter(*widest, axis))) widest = &axis;
    }
    const bool is_wide = widest != nullptr && (widest->length >= kWide || !IsContiguous(summed));
    if (Axis* const taken = is_wide ? widest : longest) {
      columns = *taken;
      axes.Remove(taken);
    }
    if (is_wide) {
      const auto both = columns.b == 0 ? Columns<kVectors, false, true> : Columns<kVectors, false, false>;
      const auto run = columns.a == 0 ? Columns<kVectors, true, false> : both;
      axes.ForEach(places, [&](const Places& at, bool is_more) { run(at, columns, summed, is_more); });
      return;
    }
    const bool is_turned = summed.a == 0;
    const Axis sum = is_turned ? Axis{summed.length, 0, summed.b, summed.a, true} : summed;
    axes.ForEach(places, [&](Places at, bool is_more) {
      for (int64_t i = 0; i < columns.length; ++i, at.Move(columns, 1)) {
        Write(at.out, Dot(is_turned ? Places{at.out, at.b, at.a} : at, sum), is_more);
      }
    });
  }
};

}  // namespace contraction
