// The lines of arrays of the shape (outer, n, inner) along the second axis.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>

namespace {

// The number of neighbouring lines that are read and written at once.
constexpr int64_t kLines = 16;

struct Shape {
  int64_t outer, n, inner;
};

// Calls `visit(first, width)` for each `width` neighbouring lines, of which the first begins at `first`.
template <typename Visit>
void ForEachLines(const Shape& shape, const Visit& visit) {
  const int64_t size = shape.n * shape.inner;
  for (int64_t begin = 0; begin < shape.outer * size && size > 0; begin += size) {
    for (int64_t line = 0; line < shape.inner; line += kLines) {
      visit(begin + line, std::min(kLines, shape.inner - line));
    }
  }
}

// Copies neighbouring lines to contiguous memory, one after the other.
template <typename From, typename To, typename Convert>
void Gather(const From* from, To* to, Shape shape, int64_t width, const Convert& convert) {
  for (int64_t i = 0; i < shape.n; ++i) {
    for (int64_t line = 0; line < width; ++line) to[line * shape.n + i] = convert(from[i * shape.inner + line]);
  }
}

// Copies them back.
template <typename From, typename To, typename Convert>
void Scatter(const From* from, To* to, Shape shape, int64_t width, const Convert& convert) {
  for (int64_t i = 0; i < shape.n; ++i) {
    for (int64_t line = 0; line < width; ++line) to[i * shape.inner + line] = convert(from[line * shape.n + i]);
  }
}

// Memory for several arrays, each of which is aligned for vectors; little of it needs no allocation.
class Memory {
 public:
  explicit Memory(std::initializer_list<int64_t> bytes) {
    int64_t size = 0;
    for (const int64_t each : bytes) size += Aligned(each);
    if (size > kLittle) allocated_ = static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(size)));
    next_ = size > kLittle ? allocated_ : little_;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(allocated_); }

  bool exists() const { return next_ != nullptr; }
  template <typename T>
  T* Take(int64_t bytes) {
    return reinterpret_cast<T*>(std::exchange(next_, next_ + Aligned(bytes)));
  }

 private:
  static constexpr int64_t kAlignment = 64, kLittle = 4096;
  static int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  alignas(kAlignment) char little_[kLittle];
  char *allocated_ = nullptr, *next_;
};

}  // namespace
