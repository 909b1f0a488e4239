// Kernels: loops of functions over blocks of elements.
#ifndef PYKERNELS_REGISTRY_POPART_LOOPS_H_
#define PYKERNELS_REGISTRY_POPART_LOOPS_H_

#include <cstddef>

#include "functions.h"

namespace popart_cpu {

template <typename T, typename F>
void Loop1(void* out, const void* a, const void*, const void*, std::size_t n) {
  using R = decltype(F()(T()));
  auto* __restrict to = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i]);
}

template <typename T, typename F>
void Loop2(void* out, const void* a, const void* b, const void*, std::size_t n) {
  using R = decltype(F()(T(), T()));
  auto* __restrict to = static_cast<R*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = F()(x[i], y[i]);
}

template <typename T>
void LoopSelect(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  const auto* which = static_cast<const Truth*>(c);
  for (std::size_t i = 0; i < n; ++i) {
    const T left = x[i], right = y[i];
    to[i] = which[i] ? left : right;
  }
}

template <typename T>
void LoopClamp(void* out, const void* a, const void* b, const void* c, std::size_t n) {
  auto* __restrict to = static_cast<T*>(out);
  const auto* x = static_cast<const T*>(a);
  const auto* low = static_cast<const T*>(b);
  const auto* high = static_cast<const T*>(c);
  for (std::size_t i = 0; i < n; ++i) {
    const T raised = x[i] < low[i] ? low[i] : x[i];
    to[i] = raised > high[i] ? high[i] : raised;
  }
}

template <typename From, typename To>
void LoopCast(void* out, const void* a, const void*, const void*, std::size_t n) {
  auto* __restrict to = static_cast<To*>(out);
  const auto* x = static_cast<const From*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = Converted<To>(x[i]);
}

inline void LoopRound(void* out, const void* a, const void*, const void*, std::size_t n) {
  auto* __restrict to = static_cast<float*>(out);
  const auto* x = static_cast<const float*>(a);
  for (std::size_t i = 0; i < n; ++i) to[i] = HalfToFloat(FloatToHalf(x[i]));
}

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_LOOPS_H_
