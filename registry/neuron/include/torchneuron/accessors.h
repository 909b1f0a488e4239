// The accessors of tensors. Each checks its arguments and reports errors with the line of the kernel.
#pragma once

#include <ATen/core/TensorAccessor.h>
#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <type_traits>

#include "torchneuron/context.h"

namespace torch {

// Accesses elements of a tensor of N dimensions by their indices.
template <typename T, size_t N, bool read_only = false>
class TensorAccessor {
 public:
  using Value = std::conditional_t<read_only, const T, T>;

  TensorAccessor(Value* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  int64_t size(int64_t dimension) const { return sizes().at(static_cast<size_t>(dimension)); }
  int64_t stride(int64_t dimension) const { return strides().at(static_cast<size_t>(dimension)); }
  c10::IntArrayRef sizes() const { return c10::IntArrayRef(sizes_, N); }
  c10::IntArrayRef strides() const { return c10::IntArrayRef(strides_, N); }
  Value* data() const { return data_; }

  decltype(auto) operator[](torchneuron::Index index) const {
    if (index.value < 0 || index.value >= sizes_[0]) { out_of_bounds(index); }
    Value* element = data_ + index.value * strides_[0];
    if constexpr (N == 1) {
      return static_cast<Value&>(*element);
    } else {
      return TensorAccessor<T, N - 1, read_only>(element, sizes_ + 1, strides_ + 1);
    }
  }

  // Converts to PyTorch's own accessor, for functions that take it.
  operator at::TensorAccessor<Value, N>() const { return at::TensorAccessor<Value, N>(data_, sizes_, strides_); }

 private:
  [[noreturn, gnu::noinline, gnu::cold]] void out_of_bounds(torchneuron::Index index) const {
    torchneuron::fail(index.place, "index " + std::to_string(index.value) + " is out of bounds for a dimension of " +
                                       std::to_string(sizes_[0]));
  }

  Value* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

// The base of stream accessors, which are open until they are closed or go out of scope.
class StreamAccessor {
 public:
  StreamAccessor(const StreamAccessor&) = delete;
  StreamAccessor& operator=(const StreamAccessor&) = delete;

  int close() {
    if (call_ != nullptr) {
      std::erase_if(call_->streams, [this](const torchneuron::OpenStream& each) { return each.accessor == this; });
      call_->tcm_used -= buffer_;
      call_ = nullptr;
    }
    return 0;
  }

 protected:
  StreamAccessor(const void* data, int64_t size, bool writes, torchneuron::Place place);
  ~StreamAccessor() { close(); }

  int64_t next(const char* what, torchneuron::Place place) {
    if (call_ == nullptr || position_ >= size_) { refuse(what, place); }
    return position_++;
  }

 private:
  [[noreturn, gnu::noinline, gnu::cold]] void refuse(const char* what, torchneuron::Place place) const {
    torchneuron::fail(place, std::string(what) + (call_ == nullptr ? " after close()"
                                                                   : " past the end of the tensor, which has " +
                                                                         std::to_string(size_) + " elements"));
  }

  torchneuron::Call* call_;
  int64_t position_ = 0;
  int64_t size_;
  size_t buffer_ = 0;
};

template <typename T>
class TensorReadStreamAccessor : public StreamAccessor {
 public:
  TensorReadStreamAccessor(const T* data, int64_t size, torchneuron::Place place)
      : StreamAccessor(data, size, false, place), data_(data) {}
  T read(torchneuron::Place place = torchneuron::Place::here()) { return data_[next("read()", place)]; }

 private:
  const T* data_;
};

template <typename T>
class TensorWriteStreamAccessor : public StreamAccessor {
 public:
  TensorWriteStreamAccessor(T* data, int64_t size, torchneuron::Place place)
      : StreamAccessor(data, size, true, place), data_(data) {}
  void write(T value, torchneuron::Place place = torchneuron::Place::here()) { data_[next("write()", place)] = value; }

 private:
  T* data_;
};

// Copies ranges of a flattened tensor from and to memory allocated by tcm_malloc().
template <bool read_only>
class TensorTcmAccessor;

}  // namespace torch
