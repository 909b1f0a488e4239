// Sums of products in loops: of all dtypes and strides, and of matrices that are too small for BLAS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

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
  typedef T Vector __attribute__((vector_size(16)));
  // Vectors of results that stay in registers, and the length from which BLAS computes an inner product.
  static constexpr int kVectors = 8;
  static constexpr int64_t kLong = 64;

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

  // Computes contiguous results, and their sums over an axis; a or b may have one element for all of them.
  template <typename V, int kCount, bool kOneOfA, bool kOneOfB>
  static void Block(Places at, int64_t out_step, const Axis& summed, bool is_more) {
    V sums[kCount] = {};
    const auto visit = [&](auto&& update) {
#pragma GCC unroll 8
      for (int i = 0; i < kCount; ++i) {
        const int64_t offset = i * static_cast<int64_t>(sizeof(V));
        update(sums[i], Ring::Product(Load<V, kOneOfA>(at.a + (kOneOfA ? 0 : offset)),
                                      Load<V, kOneOfB>(at.b + (kOneOfB ? 0 : offset))));
      }
      at.a += summed.a;
      at.b += summed.b;
    };
    if (summed.length > 0) visit([](V& sum, V product) { sum = product; });
    for (int64_t k = 1; k < summed.length; ++k) visit([](V& sum, V product) { sum = Ring::Sum(sum, product); });
    if (out_step == kItem && !is_more) {
      std::memcpy(at.out, sums, sizeof sums);
      return;
    }
    T results[kCount * (sizeof(V) / sizeof(T))];
    std::memcpy(results, sums, sizeof sums);
    for (const T result : results) {
      Write(at.out, result, is_more);
      at.out += out_step;
    }
  }

  static void Write(char* out, T result, bool is_more) {
    T& place = *reinterpret_cast<T*>(out);
    place = is_more ? Ring::Sum(place, result) : result;
  }

  // Computes results along an axis that is contiguous in a, in b or in both.
  template <bool kOneOfA, bool kOneOfB>
  static void Columns(Places at, const Axis& columns, const Axis& summed, bool is_more) {
    constexpr int64_t kFew = sizeof(Vector) / sizeof(T), kMany = kVectors * kFew;
    int64_t done = 0;
    for (; done + kMany <= columns.length; done += kMany, at.Move(columns, kMany)) {
      Block<Vector, kVectors, kOneOfA, kOneOfB>(at, columns.out, summed, is_more);
    }
    for (; done + kFew <= columns.length; done += kFew, at.Move(columns, kFew)) {
      Block<Vector, 1, kOneOfA, kOneOfB>(at, columns.out, summed, is_more);
    }
    for (; done < columns.length; ++done, at.Move(columns, 1)) {
      Block<T, 1, kOneOfA, kOneOfB>(at, columns.out, summed, is_more);
    }
  }

  // Returns the sum over an axis, computed as several partial sums; if it is contiguous, in vectors.
  template <typename V, bool kOneOfB>
  static T Sum(const Places& at, const Axis& summed) {
    constexpr int kCount = 4;
    constexpr int64_t kLanes = sizeof(V) / sizeof(T);
    V sums[kCount] = {};
    int64_t k = 0;
    for (; k + kCount * kLanes <= summed.length; k += kCount * kLanes) {
#pragma GCC unroll 4
      for (int i = 0; i < kCount; ++i) {
        const int64_t step = k + i * kLanes;
        const V b = Load<V, kOneOfB>(at.b + step * summed.b);
        sums[i] = Ring::Sum(sums[i], Ring::Product(Load<V, false>(at.a + step * summed.a), b));
      }
    }
    T parts[kCount * kLanes];
    std::memcpy(parts, sums, sizeof sums);
    T sum = 0;
    for (const T part : parts) sum = Ring::Sum(sum, part);
    for (; k < summed.length; ++k) {
      const T product = Ring::Product(Load<T, false>(at.a + k * summed.a), Load<T, false>(at.b + k * summed.b));
      sum = Ring::Sum(sum, product);
    }
    return sum;
  }

  static T Dot(const Places& at, const Axis& summed) {
    if (summed.a != kItem || (summed.b != kItem && summed.b != 0)) return Sum<T, false>(at, summed);
    if (summed.b == 0) return Sum<Vector, true>(at, summed);
    if constexpr (std::is_floating_point_v<T>) {
      if (summed.length >= kLong && summed.length <= INT32_MAX) {
        T result;
        numba_xxdot(kItem == 4 ? 's' : 'd', 'n', summed.length, at.a, at.b, &result);
        return result;
      }
    }
    return Sum<Vector, false>(at, summed);
  }

  static bool IsContiguous(const Axis& axis) {
    const bool in_a = axis.a == kItem, in_b = axis.b == kItem;
    return (in_a || axis.a == 0) && (in_b || axis.b == 0) && (in_a || in_b);
  }

  static void Run(const Places& places, Axes axes) {
    constexpr int64_t kWide = 8;
    const auto shorter = [](const Axis& x, const Axis& y) { return x.length < y.length; };
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
      const auto both = columns.b == 0 ? Columns<false, true> : Columns<false, false>;
      const auto run = columns.a == 0 ? Columns<true, false> : both;
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
