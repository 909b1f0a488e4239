// Reads broadcast inputs: the order of their elements, and copies of them into contiguous buffers.
#pragma once

#include <pykernels/kernel.h>

#include <algorithm>
#include <cstdint>

namespace {

struct Shape {
  int32_t rank = 0;
  int64_t dims[PK_MAX_NDIM];

  int64_t Count() const {
    int64_t count = 1;
    for (int32_t axis = 0; axis < rank; ++axis) count *= dims[axis];
    return count;
  }
  bool operator==(const Shape& other) const { return rank == other.rank && std::equal(dims, dims + rank, other.dims); }
};

// The order of an input's elements over the shape that it is broadcast to: axes from the outermost to the innermost,
// merged where possible.
struct Walk {
  int32_t n_axes = 0;
  int64_t sizes[PK_MAX_NDIM];
  int64_t strides[PK_MAX_NDIM];

  Walk(const int64_t* dims, int32_t rank, const Shape& over) {
    int64_t stride = 1;
    // Add axes from the innermost to the outermost, then reverse them.
    for (int32_t back = 1; back <= over.rank; ++back) {
      const int64_t size = over.dims[over.rank - back];
      const int64_t own = back <= rank ? dims[rank - back] : 1;
      const int64_t step = own == 1 ? 0 : stride;
      stride *= own;
      if (size == 1) continue;
      if (n_axes > 0 && step == (strides[n_axes - 1] == 0 ? 0 : strides[n_axes - 1] * sizes[n_axes - 1])) {
        sizes[n_axes - 1] *= size;
        continue;
      }
      sizes[n_axes] = size;
      strides[n_axes++] = step;
    }
    std::reverse(sizes, sizes + n_axes);
    std::reverse(strides, strides + n_axes);
  }

  bool IsContiguous() const { return n_axes == 0 || (n_axes == 1 && strides[0] == 1); }
  bool IsConstant() const { return n_axes == 0 || (n_axes == 1 && strides[0] == 0); }
};

// Writes the elements [at, at + n) of a broadcast input.
template <typename T>
void Gather(T* to, const T* from, const Walk& walk, int64_t at, int64_t n) {
  if (walk.IsConstant()) {
    std::fill_n(to, n, *from);
    return;
  }
  const int32_t last = walk.n_axes - 1;
  const int64_t inner = walk.sizes[last];
  int64_t index[PK_MAX_NDIM];
  int64_t rest = at;
  int64_t row = 0;  // the beginning of the innermost axis
  for (int32_t axis = last; axis >= 0; --axis) {
    index[axis] = rest % walk.sizes[axis];
    rest /= walk.sizes[axis];
    if (axis != last) row += index[axis] * walk.strides[axis];
  }
  if (last == 1 && walk.strides[0] == 0) {
    // The same row repeats: copy what has already been written, doubling it each time.
    int64_t done = std::min(n, inner - index[1]);
    std::copy_n(from + index[1], done, to);
    const int64_t head = std::min(n - done, index[1]);
    std::copy_n(from, head, to + done);
    for (done += head; done < n;) {
      const int64_t more = std::min(n - done, done / inner * inner);
      std::copy_n(to, more, to + done);
      done += more;
    }
    return;
  }
  while (true) {
    const int64_t run = std::min(n, inner - index[last]);
    if (walk.strides[last] == 0) {
      std::fill_n(to, run, from[row]);
    } else {
      std::copy_n(from + row + index[last], run, to);
    }
    to += run;
    n -= run;
    if (n == 0) return;
    index[last] = 0;
    for (int32_t axis = last - 1; axis >= 0; --axis) {
      row += walk.strides[axis];
      if (++index[axis] < walk.sizes[axis]) break;
      row -= walk.strides[axis] * walk.sizes[axis];
      index[axis] = 0;
    }
  }
}

// A complex number of float64.
struct Complex {
  uint64_t parts[2];
};

void Gather(void* to, const void* from, int32_t item_size, const Walk& walk, int64_t at, int64_t n) {
  const auto gather = [&](auto item) {
    using T = decltype(item);
    Gather(static_cast<T*>(to), static_cast<const T*>(from), walk, at, n);
  };
  switch (item_size) {
    case 1: return gather(uint8_t{});
    case 2: return gather(uint16_t{});
    case 4: return gather(uint32_t{});
    case 8: return gather(uint64_t{});
    default: return gather(Complex{});
  }
}

}  // namespace
