// Places the arrays of a fused kernel once sizes are known: blocks, strides, memory.
#pragma once

#include <pykernels/kernel.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sizes.h"
#include "tables.h"

namespace {

// The data of a block fits in the first-level cache and leaves room to prefetch the next. If its columns are divided,
// it fits in the second-level cache, unless it is a single row that is read again.
constexpr int64_t kBlockBytes = 8192;
constexpr int64_t kCutBlockBytes = 262144;
constexpr int64_t kRowBlockBytes = 16384;
constexpr int64_t kFewestColumns = 128;
// The blocks that threads may share if each element is computed by itself.
constexpr int64_t kFewestBlocks = 64;
constexpr int64_t kStackBytes = 8192;
constexpr int64_t kAlignment = 64;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

struct Array {
  char* data;
  int32_t tensor;   // the tensor that owns the memory, or -1
  int32_t base;     // the array of our own that a view shares memory with, or -1
  int32_t classes;
  int64_t item;
  int64_t offset;   // in bytes, from the beginning of the tensor
  bool is_local;    // holds data of one block only
  int64_t strides[kMaxClasses];  // in bytes
};

class Placing : public Sizes {
 public:
  ~Placing() { Free(); }

  // Places everything except tensors, which `Attach` places. Returns a pk_status.
  int32_t Prepare(const pk_kernel* kernel, const int64_t* dims, const pk_scalar* scalars, int64_t* detail) {
    Free();
    is_ready_ = false;
    if (const int32_t status = Find(kernel, dims, scalars, detail)) return status;
    uneven_ = 0;
    PlaceTensors(kernel);
    Merge();
    ChooseBlock();
    if (!PlaceOthers()) return PK_RAISED;
    Count();
    is_ready_ = true;
    return PK_OK;
  }

  // Returns whether it was prepared for calls like this one.
  bool IsFor(const int64_t* dims, const pk_scalar* scalars) const { return is_ready_ && IsOf(dims, scalars); }

  // Sets the addresses of a call's tensors.
  void Attach(void* const* data) {
    for (int i = 0; i < n_given_; ++i) {
      if (arrays_[i].tensor >= 0) arrays_[i].data = static_cast<char*>(data[arrays_[i].tensor]) + arrays_[i].offset;
    }
  }

  // Returns whether its memory is small enough to keep.
  bool IsSmall() const { return memory_ == stack_; }

 protected:
  int blocked_[kMaxClasses];
  int n_blocked_;
  int64_t block_;  // steps along the last divided class
  bool is_single_stage_;  // whether each element is computed by itself
  Array arrays_[kMaxArrays];
  int64_t counts_[kMaxArrays];  // elements of arrays that are not tensors
  char* spare_;               // as large as the largest array that is accumulated into

 private:
  void Free() {
    if (memory_ != stack_) std::free(memory_);
    memory_ = stack_;
  }

  void PlaceTensors(const pk_kernel* kernel) {
    int64_t position = 0;
    for (int i = 0; i < n_tensors_; ++i) {
      Array* const array = Open(i);
      int64_t stride = array->item;
      for (int32_t axis = kernel->ranks[i] - 1; axis >= 0; --axis) {
        PlaceAxis(array, position + axis, stride);
        stride *= dims_[position + axis];
      }
      if (stride == 0 && lost_ != 0) Detach(array);
      position += kernel->ranks[i];
    }
    const int32_t* view = pk_views;
    for (int i = n_tensors_; i < n_given_; ++i) {
      Array* const array = Open(i);
      const int32_t* const first = view + 1;
      view = first + *view;
      int64_t stride = array->item;
      bool is_void = false;
      for (const int32_t* axis = view - 4; axis >= first; axis -= 4) {
        if (axis[0] >= 0) array->offset += dims_[axis[0]] * stride;
        if (axis[2] >= 0) PlaceAxis(array, axis[2], stride * axis[1]);
        is_void |= axis[2] >= 0 && dims_[axis[2]] == 0;
        stride *= dims_[axis[3]];
      }
      if (is_void && lost_ != 0) Detach(array);
      // Stages read the first element even where no place in the tensor is right.
      if (stride == 0 && array->classes == 0) array->tensor = array->base = -1, array->data = stack_;
    }
  }

  Array* Open(int i) {
    Array& array = arrays_[i];
    const int32_t base = pk_arrays[i][kBase];
    array.tensor = base < n_tensors_ ? base : -1;
    array.base = base < n_tensors_ ? -1 : base;
    array.item = pk_arrays[i][kItemSize];
    array.classes = pk_arrays[i][kArrayClasses];
    array.offset = 0;
    array.is_local = false;
    return &array;
  }

  // Points a tensor without elements at an arbitrary element wherever one is read.
  void Detach(Array* array) {
    array->tensor = array->base = -1;
    std::fill_n(array->strides, n_classes_, 0);
    uneven_ |= array->classes;
  }

  void PlaceAxis(Array* array, int64_t place, int64_t stride) {
    const int32_t c = pk_classes[place];
    if (c < 0) return;
    array->strides[c] = dims_[place] == 1 ? 0 : stride;
    if (dims_[place] != sizes_[c]) uneven_ |= int32_t{1} << c;
  }

  // Returns whether the elements of every part along class c - 1 are as far apart as those along class c together.
  bool FollowEachOther(int c) const {
    if (sizes_[c - 1] == 1 || sizes_[c] == 1) return true;
    for (int i = n_tensors_; i < n_given_; ++i) {
      const int64_t* const stride = arrays_[i].strides + c;
      if (Has(arrays_[i].classes, c) && stride[-1] != stride[0] * sizes_[c]) return false;
    }
    return true;
  }

  // Merges neighboring classes that occur in the same arrays.
  void Merge() {
    for (int c = 1; c < n_classes_; ++c) {
      if (pk_groups[c] != pk_groups[c - 1] || uneven_ >> (c - 1) & 3 || !FollowEachOther(c)) continue;
      if (sizes_[c] == 1) {
        for (int i = 0; i < n_given_; ++i) { arrays_[i].strides[c] = arrays_[i].strides[c - 1]; }
      }
      sizes_[c] *= sizes_[c - 1];
      sizes_[c - 1] = 1;
    }
  }

  void ChooseBlock() {
    n_blocked_ = 0;
    blocked_classes_ = 0;
    is_single_stage_ = false;
    block_ = 1;
    for (int c = 0; c < n_classes_; ++c) {
      if (Has(pk_blocked[0], c)) blocked_[n_blocked_++] = c;
    }
    if (n_blocked_ == 0) return;
    is_single_stage_ = pk_counts[kStages] == 1 && pk_counts[kReductions] == 0;
    int last = n_classes_ - 1;
    while (last > 0 && sizes_[last] == 1) --last;
    if (is_single_stage_) {
      // Nothing has to stay in a cache.
      int64_t blocks = 1;
      int n = 0;
      while (n < n_blocked_ && blocks < kFewestBlocks) blocks *= sizes_[blocked_[n++]];
      n_blocked_ = n;
    } else {
      // Do not divide what is small.
      const bool divides_columns = blocked_[n_blocked_ - 1] >= last;
      if (n_blocked_ > 1 && divides_columns && sizes_[last] < kFewestColumns) --n_blocked_;
      while (n_blocked_ > 1 && BytesOfStep(n_blocked_ - 1).all <= kBlockBytes) --n_blocked_;
    }
    for (int i = 0; i < n_blocked_; ++i) blocked_classes_ |= int32_t{1} << blocked_[i];
    const int cut = blocked_[n_blocked_ - 1];
    if (is_single_stage_) {
      block_ = std::max<int64_t>(1, sizes_[cut]);
      return;
    }
    const Step step = BytesOfStep(n_blocked_);
    const bool cuts_columns = cut >= last;
    const bool is_row = step.rows == 1 && step.has_local;
    block_ = (!cuts_columns ? kBlockBytes : is_row ? kRowBlockBytes : kCutBlockBytes) / step.all;
    if (cuts_columns) block_ = std::max(block_ / kFewestColumns, int64_t{1}) * kFewestColumns;
    block_ = std::max<int64_t>(1, std::min(block_, sizes_[cut]));
  }

  // One step along the last of the first n classes that may be divided: the bytes of all arrays, the most elements of
  // an array, and whether some array holds data of one block.
  struct Step {
    int64_t all = 1, rows = 1;
    bool has_local = false;
  };

  Step BytesOfStep(int n) const {
    int32_t outer = 0;
    for (int i = 0; i < n; ++i) outer |= int32_t{1} << blocked_[i];
    Step step;
    for (int i = 0; i < pk_counts[kArrays]; ++i) {
      const int32_t* const array = pk_arrays[i];
      if (!Has(array[kArrayClasses], blocked_[n - 1])) continue;
      int64_t own = 1;
      for (int c = 0; c < n_classes_; ++c) {
        if (Has(array[kArrayClasses], c) && !Has(outer, c)) own *= sizes_[c];
      }
      step.all += own * array[kItemSize];
      step.rows = std::max(step.rows, own);
      step.has_local |= i >= n_given_ && array[kIsLocal];
    }
    return step;
  }

  int64_t LengthInMemory(const Array& array, int c) const {
    if (!array.is_local || !Has(blocked_classes_, c)) return sizes_[c];
    return c == blocked_[n_blocked_ - 1] ? block_ : 1;
  }

  // Sets the strides of a contiguous array and returns its size in bytes.
  int64_t Pack(Array* array) const {
    int64_t bytes = array->item;
    for (int c = n_classes_ - 1; c >= 0; --c) {
      if (!Has(array->classes, c)) continue;
      array->strides[c] = bytes;
      bytes *= LengthInMemory(*array, c);
    }
    return bytes;
  }

  // Returns whether the array is in our own memory: it is not a tensor, or it is an output without elements that is
  // computed.
  bool IsOurs(int i) const {
    const bool is_output = i >= pk_counts[kInputs] && i < n_tensors_;
    return i >= n_given_ || (is_output && arrays_[i].tensor < 0);
  }

  bool PlaceOthers() {
    for (int k = 0; k < pk_counts[kOutputs]; ++k) {
      if (pk_packed[k]) Pack(&arrays_[pk_counts[kInputs] + k]);
    }
    int64_t offsets[kMaxArrays];
    // Tensors without elements come first.
    int64_t total = lost_ != 0 ? kAlignment : 0, spare = 0;
    for (int i = lost_ != 0 ? 0 : n_given_; i < pk_counts[kArrays]; ++i) {
      if (!IsOurs(i)) continue;
      Array& array = arrays_[i];
      if (i >= n_given_) {
        Open(i);
        array.is_local = pk_arrays[i][kIsLocal];
      }
      const int64_t bytes = Pack(&array);
      offsets[i] = total;
      counts_[i] = bytes / array.item;
      total += Aligned(std::max(bytes, array.item));  // elements are combined with the first even if there is none
      spare = std::max(spare, bytes);
    }
    if (some_single_) total += Aligned(spare);
    if (total > kStackBytes) memory_ = static_cast<char*>(std::aligned_alloc(kAlignment, total));
    if (memory_ == nullptr) return false;
    if (lost_ != 0) std::memset(memory_, 0, kAlignment);
    for (int i = lost_ != 0 ? 0 : n_given_; i < pk_counts[kArrays]; ++i) {
      if (arrays_[i].tensor < 0) arrays_[i].data = memory_ + (IsOurs(i) ? offsets[i] : 0);
    }
    for (int i = n_tensors_; i < n_given_; ++i) {
      if (arrays_[i].base >= 0) arrays_[i].data = arrays_[arrays_[i].base].data + arrays_[i].offset;
    }
    spare_ = memory_ + total - Aligned(spare);
    return true;
  }

  void Count() {
    const int32_t* at = pk_counted;
    for (int i = n_given_; i < n_given_ + pk_counts[kCounted]; ++i) {
      // All elements of a broadcast array equal its first number.
      const int64_t own = ReadCount(at, dims_);
      auto* const numbers = reinterpret_cast<int64_t*>(arrays_[i].data);
      for (int64_t k = 0; k < counts_[i]; ++k) numbers[k] = own == 1 ? 0 : k;
    }
  }

  const int n_tensors_ = pk_counts[kInputs] + pk_counts[kOutputs];
  // The tensors and the views.
  const int n_given_ = n_tensors_ + pk_counts[kViews];
  bool is_ready_ = false;
  int32_t uneven_;  // classes along which some arrays have one element
  int32_t blocked_classes_;
  char* memory_ = stack_;
  alignas(kAlignment) char stack_[kStackBytes];
};

}  // namespace
