// Implements poplar::Tensor.
#include <poplar/Tensor.hpp>
#include <poplar/exceptions.hpp>

#include <algorithm>
#include <ostream>

#include "../host/error.h"
#include "view.h"

using popart_cpu::Table;
using popart_cpu::View;
using pykernels::Join;

namespace poplar {
namespace {

[[noreturn]] void Refuse(const Tensor& tensor, const std::string& what) {
  throw poplar_error(Join("a tensor of shape ", tensor.shapeToString(), ": ", what));
}

// Returns a copy of the tensor's view to modify.
std::shared_ptr<View> Change(const Tensor& tensor) {
  if (!tensor.valid()) throw poplar_error("the tensor is not valid: poplar::Tensor() was never set");
  return std::make_shared<View>(*tensor.view());
}

void CheckDimension(const Tensor& tensor, std::size_t dimension) {
  if (dimension >= tensor.rank()) Refuse(tensor, Join("dimension ", dimension, " does not exist"));
}

}  // namespace

Tensor::Tensor(std::shared_ptr<const View> view) : view_(std::move(view)) {}

Type Tensor::elementType() const { return Change(*this)->type; }

std::vector<std::size_t> Tensor::shape() const { return Change(*this)->shape; }

std::string Tensor::shapeToString() const { return popart_cpu::ShapeText(shape()); }

std::size_t Tensor::dim(unsigned dimension) const {
  CheckDimension(*this, dimension);
  return view_->shape[dimension];
}

std::size_t Tensor::numElements() const { return Change(*this)->n_elements(); }

bool Tensor::isContiguous() const { return view_->variable && popart_cpu::IsDense(*view_); }

Tensor Tensor::operator[](std::size_t i) const& {
  CheckDimension(*this, 0);
  return slice(i, i + 1).squeeze({0});
}

Tensor Tensor::index(ArrayRef<std::size_t> indices) const {
  Tensor tensor = *this;
  for (std::size_t i : indices) tensor = tensor[i];
  return tensor;
}

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
  auto view = Change(*this);
  CheckDimension(*this, dimension);
  if (begin > end || end > view->shape[dimension]) {
    Refuse(*this, Join("elements ", begin, " to ", end, " of dimension ", dimension, " do not exist"));
  }
  view->offset += view->strides[dimension] * static_cast<int64_t>(begin);
  view->shape[dimension] = end - begin;
  return Tensor(view);
}

Tensor Tensor::slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const {
  if (begin.size() != rank() || end.size() != rank()) {
    Refuse(*this, "a slice has a begin and an end for each dimension");
  }
  Tensor tensor = *this;
  for (unsigned i = 0; i < rank(); ++i) tensor = tensor.slice(begin[i], end[i], i);
  return tensor;
}

std::vector<Tensor> Tensor::slices(ArrayRef<Interval> regions, unsigned dimension) const {
  std::vector<Tensor> tensors;
  for (const Interval& region : regions) tensors.push_back(slice(region, dimension));
  return tensors;
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
  auto view = Change(*this);
  CheckDimension(*this, dimension);
  if (stride == 0) Refuse(*this, "subSample() with a stride of 0");
  view->shape[dimension] = (view->shape[dimension] + stride - 1) / stride;
  view->strides[dimension] *= stride;
  return Tensor(view);
}

Tensor Tensor::reverse(unsigned dimension) const {
  auto view = Change(*this);
  CheckDimension(*this, dimension);
  if (view->shape[dimension] > 0) {
    view->offset += view->strides[dimension] * static_cast<int64_t>(view->shape[dimension] - 1);
  }
  view->strides[dimension] = -view->strides[dimension];
  return Tensor(view);
}

Tensor Tensor::broadcast(unsigned count, unsigned dimension) const {
  auto view = Change(*this);
  CheckDimension(*this, dimension);
  if (view->shape[dimension] == 1) {
    view->shape[dimension] = count;
    view->strides[dimension] = 0;
    return Tensor(view);
  }
  view->shape.insert(view->shape.begin() + dimension, count);
  view->strides.insert(view->strides.begin() + dimension, 0);
  return Tensor(view).flatten(dimension, dimension + 2);
}

Tensor Tensor::dimShuffle(ArrayRef<unsigned> permutation) const {
  auto view = Change(*this);
  std::vector<bool> seen(rank());
  if (permutation.size() != rank()) Refuse(*this, "dimShuffle() takes every dimension once");
  for (unsigned i = 0; i < rank(); ++i) {
    CheckDimension(*this, permutation[i]);
    if (seen[permutation[i]]) Refuse(*this, "dimShuffle() takes every dimension once");
    seen[permutation[i]] = true;
    view->shape[i] = view_->shape[permutation[i]];
    view->strides[i] = view_->strides[permutation[i]];
  }
  return Tensor(view);
}

Tensor Tensor::dimRoll(unsigned dimension, unsigned to) const {
  CheckDimension(*this, dimension);
  CheckDimension(*this, to);
  std::vector<unsigned> permutation;
  for (unsigned i = 0; i < rank(); ++i) {
    if (i != dimension) permutation.push_back(i);
  }
  permutation.insert(permutation.begin() + to, dimension);
  return dimShuffle(permutation);
}

Tensor Tensor::transpose() const {
  if (rank() != 2) Refuse(*this, "transpose() is for matrices");
  return dimShuffle({1, 0});
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
  auto view = Change(*this);
  const std::vector<std::size_t> wanted(shape.begin(), shape.end());
  if (popart_cpu::Product(wanted) != view->n_elements()) {
    Refuse(*this, "it cannot be reshaped to " + popart_cpu::ShapeText(wanted));
  }
  // Match groups of old and new dimensions with the same number of elements. Each old group needs a single stride.
  std::vector<int64_t> strides(wanted.size(), 0);
  std::size_t from = 0, to = 0;
  while (view->n_elements() > 0 && (from < view->shape.size() || to < wanted.size())) {
    if (from < view->shape.size() && view->shape[from] == 1) {
      ++from;
      continue;
    }
    if (to < wanted.size() && wanted[to] == 1) {
      ++to;
      continue;
    }
    std::size_t from_end = from + 1, to_end = to + 1, from_size = view->shape[from], to_size = wanted[to];
    while (from_size != to_size) {
      if (from_size < to_size) {
        from_size *= view->shape[from_end++];
      } else {
        to_size *= wanted[to_end++];
      }
    }
    for (std::size_t i = from_end - 1; i > from; --i) {
      if (view->strides[i - 1] != view->strides[i] * static_cast<int64_t>(view->shape[i]) && view->shape[i] != 1) {
        auto table = std::make_shared<Table>();
        popart_cpu::AppendTo(table.get(), *view);
        return popart_cpu::TensorOf(std::move(table), view->type, wanted);
      }
    }
    int64_t stride = view->strides[from_end - 1];
    for (std::size_t i = to_end; i-- > to; stride *= static_cast<int64_t>(wanted[i])) strides[i] = stride;
    from = from_end;
    to = to_end;
  }
  view->shape = wanted;
  view->strides = strides;
  return Tensor(view);
}

Tensor Tensor::reshapePartial(unsigned begin, unsigned end, ArrayRef<std::size_t> shape) const {
  if (begin > end || end > rank()) Refuse(*this, Join("dimensions ", begin, " to ", end, " do not exist"));
  std::vector<std::size_t> wanted = this->shape();
  wanted.erase(wanted.begin() + begin, wanted.begin() + end);
  wanted.insert(wanted.begin() + begin, shape.begin(), shape.end());
  return reshape(wanted);
}

Tensor Tensor::expand(ArrayRef<std::size_t> dimensions) const {
  auto view = Change(*this);
  std::vector<std::size_t> sorted(dimensions.begin(), dimensions.end());
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::size_t dimension : sorted) {
    if (dimension > rank()) Refuse(*this, Join("expand() before dimension ", dimension, " is out of bounds"));
    view->shape.insert(view->shape.begin() + dimension, 1);
    view->strides.insert(view->strides.begin() + dimension, 0);
  }
  return Tensor(view);
}

Tensor Tensor::squeeze(ArrayRef<std::size_t> dimensions) const {
  auto view = Change(*this);
  std::vector<std::size_t> sorted(dimensions.begin(), dimensions.end());
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::size_t dimension : sorted) {
    CheckDimension(*this, dimension);
    if (view_->shape[dimension] != 1) Refuse(*this, Join("dimension ", dimension, " is not 1"));
    view->shape.erase(view->shape.begin() + dimension);
    view->strides.erase(view->strides.begin() + dimension);
  }
  return Tensor(view);
}

Tensor Tensor::flatten(unsigned begin, unsigned end) const {
  if (begin > end || end > rank()) Refuse(*this, Join("dimensions ", begin, " to ", end, " do not exist"));
  std::size_t size = 1;
  for (unsigned i = begin; i < end; ++i) size *= view_->shape[i];
  return reshapePartial(begin, end, {size});
}

bool Tensor::operator==(const Tensor& other) const {
  if (view_ == other.view_ || !view_ || !other.view_) return view_ == other.view_;
  return view_->type == other.view_->type && view_->shape == other.view_->shape &&
         view_->strides == other.view_->strides && view_->offset == other.view_->offset &&
         view_->variable == other.view_->variable && view_->table == other.view_->table;
}

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension) {
  if (tensors.empty()) throw poplar_error("concat() of no tensors");
  std::vector<std::size_t> shape = tensors[0].shape();
  CheckDimension(tensors[0], dimension);
  shape[dimension] = 0;
  for (const Tensor& each : tensors) {
    std::vector<std::size_t> other = each.shape();
    const std::size_t size = dimension < other.size() ? other[dimension] : 0;
    if (dimension < other.size()) other[dimension] = shape[dimension];
    if (other != shape) Refuse(each, "concat() with one of shape " + tensors[0].shapeToString());
    if (each.elementType() != tensors[0].elementType()) {
      Refuse(each, Join("concat() of ", each.elementType(), " with ", tensors[0].elementType()));
    }
    shape[dimension] += size;
  }
  // With that dimension first, concatenation appends one tensor after the other.
  auto table = std::make_shared<Table>();
  for (const Tensor& each : tensors) popart_cpu::AppendTo(table.get(), *each.dimRoll(dimension).view());
  std::vector<std::size_t> rolled = shape;
  rolled.erase(rolled.begin() + dimension);
  rolled.insert(rolled.begin(), shape[dimension]);
  return popart_cpu::TensorOf(std::move(table), tensors[0].elementType(), rolled).dimRoll(0, dimension);
}

Tensor concat(const Tensor& first, const Tensor& second, unsigned dimension) {
  return concat({first, second}, dimension);
}

Tensor append(const Tensor& tensor, const Tensor& element, unsigned dimension) {
  return concat(tensor, element.rank() < tensor.rank() ? element.expand({dimension}) : element, dimension);
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  return stream << tensor.elementType() << tensor.shapeToString();
}

}  // namespace poplar
