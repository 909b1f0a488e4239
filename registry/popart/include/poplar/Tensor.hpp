// Tensors of a graph: views of its variables.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Interval.hpp>
#include <poplar/Type.hpp>

namespace popart_cpu {
struct View;
}

namespace poplar {

class Tensor {
 public:
  Tensor() {}  // an invalid tensor
  explicit Tensor(std::shared_ptr<const popart_cpu::View> view);

  bool valid() const { return static_cast<bool>(view_); }
  Type elementType() const;
  std::vector<std::size_t> shape() const;
  std::string shapeToString() const;
  unsigned rank() const { return static_cast<unsigned>(shape().size()); }
  std::size_t dim(unsigned dimension) const;
  std::size_t numElements() const;
  // Returns whether the elements are consecutive elements of one variable.
  bool isContiguous() const;

  Tensor operator[](std::size_t index) const&;
  Tensor index(ArrayRef<std::size_t> indices) const;
  Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const;
  Tensor slice(const Interval& region, unsigned dimension = 0) const {
    return slice(region.begin(), region.end(), dimension);
  }
  Tensor slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const;
  std::vector<Tensor> slices(ArrayRef<Interval> regions, unsigned dimension = 0) const;
  Tensor subSample(unsigned stride, unsigned dimension) const;
  Tensor reverse(unsigned dimension) const;
  Tensor broadcast(unsigned count, unsigned dimension) const;
  Tensor dimShuffle(ArrayRef<unsigned> permutation) const;
  Tensor dimRoll(unsigned dimension, unsigned to = 0) const;
  Tensor transpose() const;  // of a matrix
  Tensor reshape(ArrayRef<std::size_t> shape) const;
  Tensor reshapePartial(unsigned begin, unsigned end, ArrayRef<std::size_t> shape) const;
  Tensor expand(ArrayRef<std::size_t> dimensions) const;
  Tensor squeeze(ArrayRef<std::size_t> dimensions) const;
  Tensor flatten() const { return reshape({numElements()}); }
  Tensor flatten(unsigned begin, unsigned end) const;

  bool operator==(const Tensor& other) const;
  bool operator!=(const Tensor& other) const { return !(*this == other); }

  const std::shared_ptr<const popart_cpu::View>& view() const { return view_; }

 private:
  std::shared_ptr<const popart_cpu::View> view_;
};

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension = 0);
Tensor concat(const Tensor& first, const Tensor& second, unsigned dimension = 0);
Tensor append(const Tensor& tensor, const Tensor& element, unsigned dimension = 0);

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace poplar
