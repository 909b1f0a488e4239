/* oneflow::BalancedSplitter: how OneFlow divides an axis among devices. */
#pragma once

#include "oneflow/core/common/util.h"

namespace oneflow {

/* The half-open range [begin, end). */
class Range final {
 public:
  Range(int64_t begin, int64_t end) : begin_(begin), end_(end) {}
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  int64_t size() const { return end_ - begin_; }

 private:
  int64_t begin_;
  int64_t end_;
};

/* Divides [0, total) into `parts` consecutive ranges; the first `total % parts` are longer by one. */
class BalancedSplitter final {
 public:
  BalancedSplitter(int64_t total, int64_t parts) : total_(total), parts_(parts) {
    CHECK_GE(total, 0);
    CHECK_GT(parts, 0);
  }
  Range At(int64_t part) const { return At(part, part); }
  Range At(int64_t first, int64_t last) const {
    CHECK_GE(first, 0);
    CHECK_LE(first, last);
    CHECK_LT(last, parts_);
    return Range(Begin(first), Begin(last + 1));
  }

 private:
  int64_t Begin(int64_t part) const { return part * (total_ / parts_) + std::min(part, total_ % parts_); }

  int64_t total_;
  int64_t parts_;
};

}  // namespace oneflow
