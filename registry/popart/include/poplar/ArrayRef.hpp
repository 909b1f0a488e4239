// A view of a list that the caller owns.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace poplar {

template <typename T>
class ArrayRef {
 public:
  ArrayRef() : data_(nullptr), size_(0) {}
  ArrayRef(const T* data, std::size_t size) : data_(data), size_(size) {}
  ArrayRef(const std::vector<T>& values) : data_(values.data()), size_(values.size()) {}
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // For arguments: such a list lives until the function returns.
  ArrayRef(std::initializer_list<T> values) : data_(values.begin()), size_(values.size()) {}
#pragma GCC diagnostic pop
  template <std::size_t N>
  ArrayRef(const T (&values)[N]) : data_(values), size_(N) {}

  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  operator std::vector<T>() const { return std::vector<T>(begin(), end()); }

 private:
  const T* data_;
  std::size_t size_;
};

}  // namespace poplar
