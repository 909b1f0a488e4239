/* oneflow::Shape: the dimensions of a tensor. Every index is checked. */
#pragma once

#include <initializer_list>
#include <ostream>

#include "oneflow/core/common/maybe.h"
#include "oneflow/core/common/util.h"

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
  std::string ToString() const {
    std::string text = "(";
    for (size_t i = 0; i < size(); ++i) { text += (i ? ", " : "") + std::to_string(Base::operator[](i)); }
    return text + (size() == 1 ? ",)" : ")");
  }

 private:
  size_t Checked(size_t index) const {
    if (index < size()) { return index; }
    throw pykernels::Failure(OutOfRange(index));
  }
  size_t Checked(size_t index, pykernels::Where where) const {
    if (index < size()) { return index; }
    throw pykernels::Failure(where, OutOfRange(index));
  }
  std::string OutOfRange(size_t index) const {
    return "axis " + std::to_string(static_cast<int64_t>(index)) + " is out of range for the shape " + ToString();
  }
};

using AxisVector = DimVector;
using Stride = DimVector;
inline std::ostream& operator<<(std::ostream& out, const DimVector& dims) { return out << dims.ToString(); }

class Shape final : public DimVector {
 public:
  using DimVector::DimVector;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : DimVector(dims) {}
  explicit Shape(const DimVector& dims) : DimVector(dims) {}

  /* The shape of an output that has not been set yet. */
  static Shape Unset() {
    Shape shape;
    shape.is_initialized_ = false;
    return shape;
  }
  bool is_initialized() const { return is_initialized_ || !empty(); }

  int64_t NumAxes(pykernels::Where where = pykernels::Where::Here()) const {
    CheckKnown(where);
    return static_cast<int64_t>(size());
  }
  int64_t At(int64_t axis, pykernels::Where where = pykernels::Where::Here()) const {
    CheckKnown(where);
    return at(static_cast<size_t>(axis), where);
  }
  void Set(int64_t axis, int64_t dim, pykernels::Where where = pykernels::Where::Here()) {
    CheckKnown(where);
    at(static_cast<size_t>(axis), where) = dim;
  }
  int64_t Count(int64_t begin, int64_t end, pykernels::Where where = pykernels::Where::Here()) const {
    int64_t count = 1;
    for (int64_t axis = begin; axis < end; ++axis) { count *= At(axis, where); }
    return count;
  }
  int64_t Count(int64_t begin, pykernels::Where where = pykernels::Where::Here()) const {
    return Count(begin, NumAxes(where), where);
  }
  int64_t elem_cnt(pykernels::Where where = pykernels::Where::Here()) const { return Count(0, where); }

  const DimVector& dim_vec() const { return *this; }
  DimVector& dim_vec() { return *this; }
  std::string DebugStr() const { return ToString(); }

  static Shape Ones(int64_t num_axes) { return Shape(DimVector(static_cast<size_t>(num_axes), 1)); }

  /* The shape without the axes of length 1 that are in `axes`. */
  Shape RemoveOnes(const AxisVector& axes, pykernels::Where where = pykernels::Where::Here()) const {
    Shape result;
    for (int64_t axis = 0; axis < NumAxes(where); ++axis) {
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) { result.push_back(At(axis, where)); }
    }
    return result;
  }

  /* The axes along which this shape, padded on the left, is broadcast to `target`. */
  AxisVector Axes4BroadcastTo(const Shape& target, pykernels::Where where = pykernels::Where::Here()) const {
    const int64_t added = target.NumAxes(where) - NumAxes(where);
    AxisVector axes;
    for (int64_t axis = 0; axis < target.NumAxes(where); ++axis) {
      if (axis < added || At(axis - added, where) != target.At(axis, where)) { axes.push_back(axis); }
    }
    return axes;
  }

 private:
  void CheckKnown(pykernels::Where where) const {
    if (!is_initialized()) { throw pykernels::Failure(where, "the shape of an output is read before it is set"); }
  }

  bool is_initialized_ = true;
};

using ShapeView = Shape;

inline int64_t ShiftNegativeAxis(int64_t axis, int64_t num_axes, pykernels::Where where = pykernels::Where::Here()) {
  const int64_t shifted = axis < 0 ? axis + num_axes : axis;
  if (shifted < 0 || shifted >= num_axes) {
    throw pykernels::Failure(where, "axis " + std::to_string(axis) + " is out of range for "
                             + std::to_string(num_axes) + " axes");
  }
  return shifted;
}

/* Returns `shape` with length 1 in place of every reduced axis. */
inline Shape CreateReducedShape(const Shape& shape, const AxisVector& axes) {
  Shape result = shape;
  for (int64_t axis : axes) { result.Set(ShiftNegativeAxis(axis, shape.NumAxes()), 1); }
  return result;
}
inline Shape CreateLeftExtendedShape(const Shape& shape, int num_axes) {
  CHECK_GE(num_axes, shape.NumAxes());
  Shape result = Shape::Ones(num_axes - shape.NumAxes());
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

}  // namespace oneflow
