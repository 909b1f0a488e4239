/* Bodies of oneflow/core/common/shape.h. */
#pragma once

#include "oneflow/core/common/shape.h"

namespace oneflow {

std::string DimVector::ToString() const {
  std::string text = "(";
  for (size_t i = 0; i < size(); ++i) {
    text += pykernels::Joined({i ? ", " : "", std::to_string(Base::operator[](i))});
  }
  return text += size() == 1 ? ",)" : ")";
}

size_t DimVector::Checked(size_t index) const {
  if (index < size()) { return index; }
  throw pykernels::Failure(OutOfRange(index));
}
size_t DimVector::Checked(size_t index, pykernels::Where where) const {
  if (index < size()) { return index; }
  throw pykernels::Failure(where, OutOfRange(index));
}
std::string DimVector::OutOfRange(size_t index) const {
  return pykernels::Joined({"axis ", std::to_string(static_cast<int64_t>(index)), " is out of range for the shape ",
                            ToString()});
}

Shape::Shape(std::initializer_list<int64_t> dims) : DimVector(dims) {}
Shape::Shape(const DimVector& dims) : DimVector(dims) {}
Shape::Shape(const Shape&) = default;
Shape& Shape::operator=(const Shape&) = default;
Shape::~Shape() = default;

Shape Shape::Unset() {
  Shape shape;
  shape.is_initialized_ = false;
  return shape;
}

int64_t Shape::NumAxes(pykernels::Where where) const {
  CheckKnown(where);
  return static_cast<int64_t>(size());
}
int64_t Shape::At(int64_t axis, pykernels::Where where) const {
  CheckKnown(where);
  return at(static_cast<size_t>(axis), where);
}
void Shape::Set(int64_t axis, int64_t dim, pykernels::Where where) {
  CheckKnown(where);
  at(static_cast<size_t>(axis), where) = dim;
}
int64_t Shape::Count(int64_t begin, int64_t end, pykernels::Where where) const {
  int64_t count = 1;
  for (int64_t axis = begin; axis < end; ++axis) { count *= At(axis, where); }
  return count;
}
int64_t Shape::Count(int64_t begin, pykernels::Where where) const { return Count(begin, NumAxes(where), where); }
int64_t Shape::elem_cnt(pykernels::Where where) const { return Count(0, where); }

std::string Shape::DebugStr() const { return ToString(); }

Shape Shape::Ones(int64_t num_axes) { return Shape(DimVector(static_cast<size_t>(num_axes), 1)); }

Shape Shape::RemoveOnes(const AxisVector& axes, pykernels::Where where) const {
  Shape result;
  for (int64_t axis = 0; axis < NumAxes(where); ++axis) {
    bool is_removed = false;
    for (int64_t each : axes) { is_removed = is_removed || each == axis; }
    if (!is_removed) { result.push_back(At(axis, where)); }
  }
  return result;
}

AxisVector Shape::Axes4BroadcastTo(const Shape& target, pykernels::Where where) const {
  const int64_t added = target.NumAxes(where) - NumAxes(where);
  AxisVector axes;
  for (int64_t axis = 0; axis < target.NumAxes(where); ++axis) {
    if (axis < added || At(axis - added, where) != target.At(axis, where)) { axes.push_back(axis); }
  }
  return axes;
}

void Shape::CheckKnown(pykernels::Where where) const {
  if (!is_initialized()) { throw pykernels::Failure(where, "the shape of an output is read before it is set"); }
}

int64_t ShiftNegativeAxis(int64_t axis, int64_t num_axes, pykernels::Where where) {
  const int64_t shifted = axis < 0 ? axis + num_axes : axis;
  if (shifted < 0 || shifted >= num_axes) {
    throw pykernels::Failure(where, pykernels::Joined({"axis ", std::to_string(axis), " is out of range for ",
                                                       std::to_string(num_axes), " axes"}));
  }
  return shifted;
}

Shape CreateReducedShape(const Shape& shape, const AxisVector& axes) {
  Shape result = shape;
  for (int64_t axis : axes) { result.Set(ShiftNegativeAxis(axis, shape.NumAxes()), 1); }
  return result;
}
Shape CreateLeftExtendedShape(const Shape& shape, int num_axes) {
  CHECK_GE(num_axes, shape.NumAxes());
  Shape result = Shape::Ones(num_axes - shape.NumAxes());
  for (int64_t dim : shape) { result.push_back(dim); }
  return result;
}

}  // namespace oneflow
