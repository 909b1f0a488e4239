// Computes the lengths of axis classes and of the axes of reshaped arrays and outputs.
#pragma once

#include <algorithm>
#include <cstdint>

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

// Appends the lengths of the axes of reshaped arrays to those of tensors. Returns whether these lengths exist.
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
  at = pk_reshaped;
  for (int i = 0; i < pk_counts[kReshaped]; ++i) {
    const int64_t before = ReadCount(at, dims);
    if (before != ReadCount(at, dims)) return false;
  }
  return true;
}

}  // namespace
