// Runs an elementwise kernel over a range of elements: `pk_kernel_run` calls the kernel's own `pk_stages`, which
// compute whole vectors. The same object code is linked into every elementwise kernel.
//
// Vectors are read directly from the inputs and written directly to the outputs. Partial vectors, the ends of the range
// and broadcast inputs go through small buffers, so that the same instructions compute every element wherever the range
// is divided.
#include <pykernels/kernel.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>

#include "elementwise/walk.h"

#pragma GCC visibility push(hidden)
extern "C" {
// Defined by the kernel; kernel/emit/fused_code.py writes them:
extern const int32_t pk_counts[3];      // inputs, outputs, elements of a vector
extern const int32_t pk_item_sizes[];   // bytes of an element of every input, then of every output
extern const uint32_t pk_shapes[];      // for every output, the inputs whose shapes are broadcast to its own, as bits
// Compute `n` > 0 elements of all tensors, in whole vectors. For the second, outputs are aligned for whole vectors, and
// its stores bypass the caches.
typedef void (*pk_stage)(const void* const* tensors, const int64_t* unused, const pk_scalar* scalars, int64_t rows,
                         int64_t n);
extern const pk_stage pk_stages[2];
// Returns whether the kernel accepts these numbers; if not, the plain NumPy run reports the error.
int32_t pk_accepts(const pk_scalar* scalars);
}
#pragma GCC visibility pop

namespace {

constexpr int kMaxTensors = 32;
constexpr uint32_t kBufferBytes = 16384;  // all buffers together stay in the first-level cache
// If the tensors together are larger than this, stores bypass the caches: their data would be evicted before it is read
// again, and cache lines of the outputs need not be read before they are overwritten. This is a common size of a
// third-level cache; the size that the system reports may be wrong in a virtual machine.
constexpr int64_t kStreamingBytes = int64_t{1} << 25;

// The arguments of a call.
struct Call {
  const int32_t* ranks;
  void* const* data;
  const int64_t* dims[kMaxTensors];
  const pk_scalar* scalars;
  int n_inputs = pk_counts[0];
  int n_outputs = pk_counts[1];
  int64_t lanes = pk_counts[2];

  Shape ShapeOf(int tensor) const {
    Shape shape;
    shape.rank = ranks[tensor];
    std::copy(dims[tensor], dims[tensor] + shape.rank, shape.dims);
    return shape;
  }
};

char* At(void* data, int64_t offset) { return static_cast<char*>(data) + offset; }

// Copies a few bytes, by moves that may overlap: a call of memcpy takes longer than these.
void CopyFew(void* to, const void* from, int64_t n) {
  const auto move = [to, from](auto size, int64_t at) {
    std::memcpy(At(to, at), static_cast<const char*>(from) + at, size());
  };
  const auto move_all = [n, move](auto size) {
    for (int64_t at = 0; at + size() <= n; at += size()) move(size, at);
    move(size, n - size());
  };
  if (n >= 16) return move_all(std::integral_constant<int64_t, 16>());
  if (n >= 8) return move_all(std::integral_constant<int64_t, 8>());
  if (n >= 4) return move_all(std::integral_constant<int64_t, 4>());
  for (int64_t at = 0; at < n; ++at) move(std::integral_constant<int64_t, 1>(), at);
}

// Returns the number of elements before the first at which every output is aligned for a vector; -1 if there is none.
int64_t CountUnaligned(const Call& call, int64_t begin) {
  int64_t common = -1;
  for (int k = 0; k < call.n_outputs; ++k) {
    const int64_t item = pk_item_sizes[call.n_inputs + k];
    const auto address = reinterpret_cast<uintptr_t>(At(call.data[call.n_inputs + k], begin * item));
    const int64_t bytes = call.lanes * item;
    const int64_t before = (bytes - static_cast<int64_t>(address % bytes)) % bytes;
    if (before % item != 0 || (common >= 0 && before / item != common)) return -1;
    common = before / item;
  }
  return common;
}

// Computes the elements [begin, end) of one shape. `only` is the output to compute, or -1 for all.
class Range {
 public:
  Range(const Call& call, const Shape& shape, int only) : call_(call), only_(only) {
    uint32_t bytes = 0;
    for (int tensor = 0; tensor < call.n_inputs + call.n_outputs; ++tensor) bytes += pk_item_sizes[tensor];
    // The number of lanes is a power of two. Divisions of 64 bits take long.
    chunk_ = kBufferBytes / bytes & -call.lanes;
    char* next = area_;
    for (int tensor = 0; tensor < call.n_inputs + call.n_outputs; ++tensor) {
      buffers_[tensor] = next;
      next += chunk_ * pk_item_sizes[tensor];
    }
    is_large_ = bytes * shape.Count() > kStreamingBytes;
  }

  // Reads an input of the same shape.
  void AddDirect(int input) { sources_[input] = {true, nullptr, call_.data[input]}; }

  // Reads an input that is broadcast.
  void AddWalk(int input, const Walk& walk) {
    if (walk.IsContiguous()) return AddDirect(input);
    sources_[input] = {false, &walk, call_.data[input]};
    is_chunked_ = true;
  }

  // Marks an input that does not affect this shape.
  void AddAbsent(int input) {
    std::memset(buffers_[input], 0, chunk_ * pk_item_sizes[input]);
    sources_[input] = {false, nullptr, nullptr};
    is_chunked_ = true;
  }

  void Run(int64_t begin, int64_t end) {
    if (begin >= end) return;
    const int64_t unaligned = is_large_ && only_ < 0 && !is_chunked_ ? CountUnaligned(call_, begin) : -1;
    const bool streaming = unaligned >= 0 && end - begin - unaligned >= call_.lanes;
    int64_t at = begin;
    if (streaming && unaligned > 0) RunRagged(at, unaligned), at += unaligned;
    const int64_t most = is_chunked_ || only_ >= 0 ? chunk_ : end;
    while (end - at >= call_.lanes) {
      const int64_t n = std::min(most, (end - at) / call_.lanes * call_.lanes);
      RunWhole(at, n, streaming);
      at += n;
    }
    if (at < end) RunRagged(at, end - at);
#if defined(__x86_64__)
    if (streaming) __builtin_ia32_sfence();  // makes streaming stores visible to other threads
#endif
  }

 private:
  struct Source {
    bool is_direct;
    const Walk* walk;
    void* data;
  };

  void RunWhole(int64_t at, int64_t n, bool streaming) {
    const void* tensors[kMaxTensors];
    for (int i = 0; i < call_.n_inputs; ++i) {
      tensors[i] = sources_[i].is_direct ? At(sources_[i].data, at * pk_item_sizes[i]) : Fill(i, at, n);
    }
    for (int k = 0; k < call_.n_outputs; ++k) {
      const int tensor = call_.n_inputs + k;
      tensors[tensor] = IsWanted(k) ? At(call_.data[tensor], at * pk_item_sizes[tensor]) : buffers_[tensor];
    }
    pk_stages[streaming](tensors, nullptr, call_.scalars, 1, n);
  }

  // Computes fewer elements than a vector, by repeating them in a buffer.
  void RunRagged(int64_t at, int64_t n) {
    for (int i = 0; i < call_.n_inputs; ++i) {
      const int64_t item = pk_item_sizes[i];
      if (sources_[i].is_direct) {
        CopyFew(buffers_[i], At(sources_[i].data, at * item), n * item);
      } else {
        Fill(i, at, n);
      }
      for (int64_t done = n * item; done < call_.lanes * item;) {
        const int64_t more = std::min(done, call_.lanes * item - done);
        CopyFew(At(buffers_[i], done), buffers_[i], more);
        done += more;
      }
    }
    pk_stages[0](buffers_, nullptr, call_.scalars, 1, call_.lanes);
    for (int k = 0; k < call_.n_outputs; ++k) {
      const int tensor = call_.n_inputs + k;
      const int64_t item = pk_item_sizes[tensor];
      if (IsWanted(k)) CopyFew(At(call_.data[tensor], at * item), buffers_[tensor], n * item);
    }
  }

  const void* Fill(int input, int64_t at, int64_t n) {
    const Source& source = sources_[input];
    if (source.walk) Gather(buffers_[input], source.data, pk_item_sizes[input], *source.walk, at, n);
    return buffers_[input];
  }

  bool IsWanted(int output) const { return only_ < 0 || only_ == output; }

  const Call& call_;
  const int only_;
  int64_t chunk_;
  bool is_large_;
  bool is_chunked_ = false;
  Source sources_[kMaxTensors];
  void* buffers_[kMaxTensors];
  alignas(64) char area_[kBufferBytes];
};

bool AreAlike(const Call& call) {
  const int first = call.n_inputs;
  for (int tensor = 0; tensor < call.n_inputs + call.n_outputs; ++tensor) {
    if (call.ranks[tensor] != call.ranks[first]) return false;
    // Not std::equal, which calls memcmp.
    for (int32_t axis = 0; axis < call.ranks[first]; ++axis) {
      if (call.dims[tensor][axis] != call.dims[first][axis]) return false;
    }
  }
  return true;
}

// Computes the shape that NumPy gives an output. Returns false if its inputs cannot be broadcast together.
bool Broadcast(const Call& call, int output, Shape* shape) {
  *shape = Shape();
  for (int i = 0; i < call.n_inputs; ++i) {
    if (!(pk_shapes[output] >> i & 1)) continue;
    const Shape before = *shape;
    shape->rank = std::max(before.rank, call.ranks[i]);
    for (int32_t back = 1; back <= shape->rank; ++back) {
      const int64_t a = back <= before.rank ? before.dims[before.rank - back] : 1;
      const int64_t b = back <= call.ranks[i] ? call.dims[i][call.ranks[i] - back] : 1;
      if (a != b && a != 1 && b != 1) return false;
      shape->dims[shape->rank - back] = a == 1 ? b : a;
    }
  }
  return true;
}

void RunBroadcast(const Call& call, const Shape& shape, int only, uint32_t inputs, int64_t begin, int64_t end) {
  Range range(call, shape, only);
  alignas(Walk) char walks[kMaxTensors][sizeof(Walk)];
  for (int i = 0; i < call.n_inputs; ++i) {
    if (inputs >> i & 1) {
      range.AddWalk(i, *new (walks[i]) Walk(call.dims[i], call.ranks[i], shape));
    } else {
      range.AddAbsent(i);
    }
  }
  range.Run(begin, end);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int32_t pk_kernel_run(const pk_kernel* kernel, void* const* data,
                                                                        const int64_t* dims, const pk_scalar* scalars,
                                                                        int64_t begin, int64_t end, int64_t* detail) {
  if (!pk_accepts(scalars)) return PK_RAISED;
  Call call;
  call.ranks = kernel->ranks;
  call.data = data;
  call.scalars = scalars;
  for (int tensor = 0; tensor < call.n_inputs + call.n_outputs; ++tensor) {
    call.dims[tensor] = dims;
    dims += call.ranks[tensor];
  }
  const Shape first = call.ShapeOf(call.n_inputs);
  if (AreAlike(call)) {
    Range range(call, first, -1);
    for (int i = 0; i < call.n_inputs; ++i) range.AddDirect(i);
    range.Run(begin, end);
    return PK_OK;
  }
  bool are_same = true;
  uint32_t inputs = 0;
  for (int k = 0; k < call.n_outputs; ++k) {
    Shape shape;
    if (!Broadcast(call, k, &shape)) return PK_RAISED;
    const Shape given = call.ShapeOf(call.n_inputs + k);
    if (!(shape == given)) {
      detail[0] = k;
      detail[1] = shape.rank;
      std::copy(shape.dims, shape.dims + shape.rank, detail + 2);
      return PK_WRONG_SHAPE;
    }
    are_same = are_same && given == first;
    inputs |= pk_shapes[k];
  }
  if (are_same) {
    RunBroadcast(call, first, -1, inputs, begin, end);
    return PK_OK;
  }
  // Each output has its own range, in proportion to that of the first.
  const int64_t n = first.Count();
  for (int k = 0; k < call.n_outputs; ++k) {
    const Shape shape = call.ShapeOf(call.n_inputs + k);
    const __int128 count = shape.Count();
    const int64_t from = n == 0 ? 0 : static_cast<int64_t>(begin * count / n);
    const int64_t to = n == 0 ? shape.Count() : static_cast<int64_t>(end * count / n);
    RunBroadcast(call, shape, k, pk_shapes[k], from, to);
  }
  return PK_OK;
}
