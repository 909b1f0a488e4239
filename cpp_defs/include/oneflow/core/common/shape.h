/* oneflow::Shape: the dimensions of a tensor. Every index is checked. */
#pragma once

#include <initializer_list>

#include "oneflow/core/common/maybe.h"

namespace oneflow {

/* A list of dimensions or axes. */
class DimVector : public std::vector<int64_t> {
 public:
  using Base = std::vector<int64_t>;
  using Base::Base;
  DimVector() = default;
  DimVector(const Base& dims) : Base(dims) {}

  int64_t& operator[](size_t index) { return Base::operator[](Checked(index)); }
  const int64_t& operator[](size_t index) const { return Base::operator[](Checked(index)); }
  int64_t& at(size_t index, pykernels::Where where = pykernels::Where::Here()) {
    return Base::operator[](Checked(index, where));
  }
  const int64_t& at(size_t index, pykernels::Where where = pykernels::Where::Here()) const {
    return Base::operator[](Checked(index, where));
  }
  int64_t& front() { return (*this)[0]; }
  int64_t& back() { return (*this)[size() - 1]; }
  const int64_t& front() const { return (*this)[0]; }
  const int64_t& back() const { return (*this)[size() - 1]; }

  /* The text of a Python tuple. */
  std::string ToString() const;

 private:
  size_t Checked(size_t index) const;
  size_t Checked(size_t index, pykernels::Where where) const;
  std::string OutOfRange(size_t index) const;
};

using AxisVector = DimVector;
using Stride = DimVector;
template<typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const DimVector& dims) {
  return out << dims.ToString();
}

class Shape final : public DimVector {
 public:
  using DimVector::DimVector;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(const DimVector& dims);
  Shape(const Shape&);
  Shape& operator=(const Shape&);
  ~Shape();

  /* The shape of an output that has not been set yet. */
  static Shape Unset();
  bool is_initialized() const { return is_initialized_ || !empty(); }

  int64_t NumAxes(pykernels::Where where = pykernels::Where::Here()) const;
  int64_t At(int64_t axis, pykernels::Where where = pykernels::Where::Here()) const;
  void Set(int64_t axis, int64_t dim, pykernels::Where where = pykernels::Where::Here());
  int64_t Count(int64_t begin, int64_t end, pykernels::Where where = pykernels::Where::Here()) const;
  int64_t Count(int64_t begin, pykernels::Where where = pykernels::Where::Here()) const;
  int64_t elem_cnt(pykernels::Where where = pykernels::Where::Here()) const;

  const DimVector& dim_vec() const { return *this; }
  DimVector& dim_vec() { return *this; }
  std::string DebugStr() const;

  static Shape Ones(int64_t num_axes);

  /* The shape without the axes of length 1 that are in `axes`. */
  Shape RemoveOnes(const AxisVector& axes, pykernels::Where where = pykernels::Where::Here()) const;

  /* The axes along which this shape, padded on the left, is broadcast to `target`. */
  AxisVector Axes4BroadcastTo(const Shape& target, pykernels::Where where = pykernels::Where::Here()) const;

 private:
  void CheckKnown(pykernels::Where where) const;

  bool is_initialized_ = true;
};

using ShapeView = Shape;

int64_t ShiftNegativeAxis(int64_t axis, int64_t num_axes, pykernels::Where where = pykernels::Where::Here());

/* Returns `shape` with length 1 in place of every reduced axis. */
Shape CreateReducedShape(const Shape& shape, const AxisVector& axes);
Shape CreateLeftExtendedShape(const Shape& shape, int num_axes);

}  // namespace oneflow
