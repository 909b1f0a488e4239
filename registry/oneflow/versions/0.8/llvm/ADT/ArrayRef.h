// A view of an array, as OneFlow's headers use it: passed by value as a pointer and a length, in this order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace llvm {

template <typename T>
class ArrayRef {
 public:
  using value_type = T;
  using size_type = size_t;
  using const_reference = const T&;
  using reference = const T&;
  using const_iterator = const T*;
  using iterator = const T*;

  ArrayRef() = default;
  ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  ArrayRef(const T* begin, const T* end) : data_(begin), size_(end - begin) {}
  template <typename Allocator>
  ArrayRef(const std::vector<T, Allocator>& items) : data_(items.data()), size_(items.size()) {}

  const T* data() const { return data_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  bool equals(ArrayRef other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 protected:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}

template <typename T>
class MutableArrayRef : public ArrayRef<T> {
 public:
  MutableArrayRef() = default;
  MutableArrayRef(T* data, size_t size) : ArrayRef<T>(data, size) {}

  T* data() const { return const_cast<T*>(this->data_); }
  T* begin() const { return data(); }
  T* end() const { return data() + this->size_; }
  T& operator[](size_t i) const { return data()[i]; }
};

}  // namespace llvm
