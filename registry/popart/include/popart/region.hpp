// Parts of tensors, with which ops describe what they change or pass on.
#pragma once

#include <functional>
#include <vector>

#include <popart/names.hpp>

namespace popart {
namespace view {

class Region {
 public:
  Region(std::vector<int64_t> lower, std::vector<int64_t> upper) : lower_(std::move(lower)), upper_(std::move(upper)) {}
  static Region getFull(const Shape& shape) { return Region(std::vector<int64_t>(shape.size()), shape); }
  static Region getEmpty(int64_t rank) { return Region(std::vector<int64_t>(rank), std::vector<int64_t>(rank)); }

  const std::vector<int64_t>& getLower() const { return lower_; }
  const std::vector<int64_t>& getUpper() const { return upper_; }
  int64_t rank() const { return static_cast<int64_t>(lower_.size()); }
  int64_t nelms() const {
    int64_t count = 1;
    for (std::size_t i = 0; i < lower_.size(); ++i) count *= upper_[i] - lower_[i];
    return count;
  }
  bool isEmpty() const { return nelms() == 0; }

 private:
  std::vector<int64_t> lower_;
  std::vector<int64_t> upper_;
};

using Regions = std::vector<Region>;
using RegMap = std::function<Regions(const Region&)>;

}  // namespace view
}  // namespace popart
