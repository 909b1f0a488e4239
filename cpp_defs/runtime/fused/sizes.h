// Computes what depends on the shapes and scalars of a call of a fused kernel: sizes of classes, reductions, numbers.
#pragma once

#include <pykernels/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tables.h"

namespace {

// Returns the broadcast length of the axes in the list at `list`, or -1 if they cannot be broadcast together. Advances
// `list` past the list.
int64_t ReadLength(const int32_t*& list, const int64_t* dims) {
  int64_t length = 1;
  const int32_t* const end = list + 1 + *list;
  for (++list; list < end; ++list) {
    const int64_t own = dims[*list];
    if (own == 1) continue;
    if (length != 1 && length != own) {
      list = end;
      return -1;
    }
    length = own;
  }
  return length;
}

// Returns the number of elements of the shape at `shape`. Advances `shape` past it.
int64_t ReadCount(const int32_t*& shape, const int64_t* dims) {
  int64_t count = 1;
  for (int32_t axes = *shape++; axes > 0; --axes) count *= ReadLength(shape, dims);
  return count;
}

int64_t Calculate(int32_t step, int64_t a, int64_t b) {
  switch (step) {
    case kMultiply: return a * b;
    case kAdd: return a + b;
    case kSubtract: return a - b;
    case kMaximum: return std::max(a, b);
    case kMinimum: return std::min(a, b);
    default: return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
  }
}

// Appends the lengths of the axes of views to those of tensors. Returns whether these lengths exist and fit.
bool FindLengths(int64_t* dims) {
  const int32_t* at = pk_lengths;
  for (int i = 0; i < pk_counts[kLengths]; ++i) {
    int64_t stack[kMaxSteps];
    int64_t* top = stack;  // one past the last
    const int32_t* const end = at + 1 + *at;
    for (++at; at < end;) {
      const int32_t step = *at++;
      if (step == kNumber) {
        *top++ = *at++;
      } else if (step == kCount) {
        *top++ = ReadCount(at, dims);
      } else {
        const int64_t b = *--top, a = *--top;
        *top++ = Calculate(step, a, b);
      }
    }
    dims[pk_counts[kAxes] + i] = stack[0];
    if (stack[0] < 0) return false;
  }
  at = pk_equal;
  for (int i = 0; i < pk_counts[kEqual]; ++i) {
    const int64_t before = ReadCount(at, dims);
    if (before != ReadCount(at, dims)) return false;
  }
  return true;
}

class Sizes {
 protected:
  // Computes the sizes and returns a pk_status.
  int32_t Find(const pk_kernel* kernel, const int64_t* dims, const pk_scalar* scalars, int64_t* detail) {
    std::copy_n(dims, pk_counts[kAxes], dims_);
    if (!FindLengths(dims_)) return PK_RAISED;
    if (!FindSizes()) return PK_RAISED;
    if (const int32_t status = CheckOutputs(kernel, detail)) return status;
    if (!CheckReductions()) return PK_RAISED;
    ReadNumbers(scalars);
    return pk_accepts(numbers_) ? PK_OK : PK_RAISED;
  }

  // Returns whether the sizes were computed for these shapes and scalars.
  bool IsOf(const int64_t* dims, const pk_scalar* scalars) const {
    bool is_same = true;
    for (int i = 0; i < pk_counts[kAxes]; ++i) is_same &= dims[i] == dims_[i];
    for (int i = 0; i < pk_counts[kScalars]; ++i) is_same &= scalars[i].integer == numbers_[i];
    return is_same;
  }

  const int n_classes_ = pk_counts[kClasses];
  int64_t dims_[kMaxAxes];
  int64_t sizes_[kMaxClasses];
  int32_t lost_;  // classes along which some arrays have one element and others none
  int64_t numbers_[kMaxNumbers + 1];  // the last is not 0 once a stage found a place outside of an array
  // For every reduction, the classes along which it has a single element, which is broadcast elsewhere in the kernel.
  int32_t single_[kMaxArrays];
  bool is_void_[kMaxArrays];  // and whether it reduces no elements
  bool some_single_;          // or reduces no elements, while it is broadcast elsewhere

 private:
  // If axes of length 1 are broadcast to length 0, but other results keep length 1, the class has one element. Results
  // of length 0 are then computed as well, but outside the outputs.
  bool FindSizes() {
    lost_ = 0;
    const int32_t* list = pk_members;
    for (int c = 0; c < n_classes_; ++c) {
      const int32_t* const members = list + 1;
      sizes_[c] = ReadLength(list, dims_);
      if (sizes_[c] < 0) return false;
      if (sizes_[c] == 0 && std::any_of(members, list, [this](int32_t axis) { return dims_[axis] == 1; })) {
        sizes_[c] = 1;
        lost_ |= int32_t{1} << c;
      }
    }
    return true;
  }

  int32_t CheckOutputs(const pk_kernel* kernel, int64_t* detail) const {
    const int32_t* list = pk_output_shapes;
    int64_t position = 0;
    for (int i = 0; i < pk_counts[kInputs]; ++i) position += kernel->ranks[i];
    for (int k = 0; k < pk_counts[kOutputs]; ++k) {
      const int32_t rank = kernel->ranks[pk_counts[kInputs] + k];
      bool fits = true;
      for (int32_t axis = 0; axis < rank; ++axis) {
        detail[2 + axis] = ReadLength(list, dims_);
        if (detail[2 + axis] < 0) return PK_RAISED;
        fits = fits && detail[2 + axis] == dims_[position + axis];
      }
      position += rank;
      if (fits) continue;
      detail[0] = k;
      detail[1] = rank;
      return PK_WRONG_SHAPE;
    }
    return PK_OK;
  }

  bool CheckReductions() {
    some_single_ = false;
    const int32_t* at = pk_reductions;
    for (int i = 0; i < pk_counts[kReductions]; ++i) {
      const int32_t must = *at++;
      int64_t count = 1;
      single_[i] = 0;
      for (int32_t axes = *at++; axes > 0; --axes) {
        const int32_t of_class = pk_classes[at[1]];
        const int64_t length = ReadLength(at, dims_);
        if (must == kEven && length == 1 && sizes_[of_class] != 1) single_[i] |= int32_t{1} << of_class;
        count *= length;
      }
      if (must == kNonempty && count == 0) return false;
      is_void_[i] = lost_ != 0 && count == 0;
      some_single_ |= single_[i] != 0 || is_void_[i];
    }
    return true;
  }

  void ReadNumbers(const pk_scalar* scalars) {
    numbers_[kMaxNumbers] = 0;
    int n = pk_counts[kScalars];
    if (n > 0) std::memcpy(numbers_, scalars, n * sizeof *numbers_);
    const int32_t* at = pk_extents;
    for (int i = 0; i < pk_counts[kExtents]; ++i) { numbers_[n++] = ReadCount(at, dims_); }
  }
};

}  // namespace
