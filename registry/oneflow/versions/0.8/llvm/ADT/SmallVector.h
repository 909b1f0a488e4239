// A vector with inline storage for N items, as OneFlow's shapes use it. Its layout is the one that liboneflow was built
// with: a pointer, two 32-bit counts, the inline storage. Larger contents come from malloc. Only for trivial items.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <new>
#include <type_traits>

namespace llvm {

template <typename T, unsigned N>
class SmallVector {
  static_assert(std::is_trivially_copyable<T>::value && sizeof(T) >= 4 && alignof(T) <= 8, "not such an item");

  template <typename Iterator>
  using RequireIterator = typename std::iterator_traits<Iterator>::iterator_category;

 public:
  using value_type = T;
  using size_type = size_t;
  using difference_type = ptrdiff_t;
  using reference = T&;
  using const_reference = const T&;
  using pointer = T*;
  using const_pointer = const T*;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() {}
  explicit SmallVector(size_t n, const T& item = T()) { resize(n, item); }
  SmallVector(std::initializer_list<T> items) { append(items.begin(), items.end()); }
  template <typename Iterator, typename = RequireIterator<Iterator>>
  SmallVector(Iterator begin, Iterator end) {
    append(begin, end);
  }
  SmallVector(const SmallVector& other) { append(other.begin(), other.end()); }
  SmallVector(SmallVector&& other) { Take(&other); }
  ~SmallVector() { Free(); }

  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }

  T* data() { return static_cast<T*>(data_); }
  const T* data() const { return static_cast<const T*>(data_); }
  T* begin() { return data(); }
  const T* begin() const { return data(); }
  T* end() { return data() + size_; }
  const T* end() const { return data() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void clear() { size_ = 0; }
  void push_back(const T& item) { resize(size_ + 1, item); }
  template <typename... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    push_back(T(arguments...));
    return back();
  }
  void resize(size_t n) { resize(n, T()); }
  void resize(size_t n, const T& item) {
    const T copy = item;  // the item may be in this vector
    Grow(n);
    if (n > size_) std::fill(end(), begin() + n, copy);
    size_ = static_cast<uint32_t>(n);
  }
  template <typename Iterator, typename = RequireIterator<Iterator>>
  void assign(Iterator begin, Iterator end) {
    clear();
    append(begin, end);
  }
  template <typename Iterator, typename = RequireIterator<Iterator>>
  void append(Iterator begin, Iterator end) {
    const size_t n = size_ + std::distance(begin, end);
    Grow(n);
    std::copy(begin, end, this->end());
    size_ = static_cast<uint32_t>(n);
  }
  T* insert(const T* place, const T& item) {
    const size_t at = place - begin();
    push_back(item);
    std::rotate(begin() + at, end() - 1, end());
    return begin() + at;
  }

  bool operator==(const SmallVector& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  bool IsInside() const { return data_ == room_; }

  void Grow(size_t n) {
    if (n <= capacity_) return;
    n = std::max<size_t>(n, 2 * size_t{capacity_});
    void* grown = std::malloc(n * sizeof(T));
    if (!grown) throw std::bad_alloc();
    std::memcpy(grown, data_, size_ * sizeof(T));
    if (!IsInside()) std::free(data_);
    data_ = grown;
    capacity_ = static_cast<uint32_t>(n);
  }

  // Empties the vector and restores its inline storage.
  void Reset() {
    data_ = room_;
    size_ = 0;
    capacity_ = N;
  }

  void Free() {
    if (!IsInside()) std::free(data_);
    Reset();
  }

  // Takes the items of `other`; this vector must be empty.
  void Take(SmallVector* other) {
    if (other->IsInside()) {
      append(other->begin(), other->end());
      other->clear();
      return;
    }
    data_ = other->data_;
    size_ = other->size_;
    capacity_ = other->capacity_;
    other->Reset();
  }

  void* data_ = room_;
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(8) char room_[N * sizeof(T)];
};

}  // namespace llvm
