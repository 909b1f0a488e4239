// The views of variables and tables behind tensors, and their broadcasting by NumPy's rules.
#pragma once

#include <poplar/Tensor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace popart_cpu {

// Contiguous elements that a program reads and writes.
struct Variable {
  poplar::Type type;
  std::size_t n_elements;
  int input = -1;                // the op's input that holds the elements, or -1
  std::vector<char> constant{};  // bytes of the elements, if they never change
  bool is_constant = false;
};

// A sequence of elements of any variables.
struct Table {
  std::vector<std::shared_ptr<const Variable>> variables;
  struct Element {
    uint32_t variable;
    int64_t index;
  };
  std::vector<Element> elements;
};

// The elements at offset + sum(strides[i] * index[i]) of a variable or a table.
struct View {
  poplar::Type type;
  std::vector<std::size_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  std::shared_ptr<const Variable> variable;
  std::shared_ptr<const Table> table;  // set if there is no variable

  std::size_t n_elements() const;
};

// Return a tensor of a whole variable, or of a whole table.
poplar::Tensor TensorOf(std::shared_ptr<const Variable> variable, std::vector<std::size_t> shape);
poplar::Tensor TensorOf(std::shared_ptr<const Table> table, poplar::Type type, std::vector<std::size_t> shape);

// Returns the indices of a view's elements in its variable or table, in order.
std::vector<int64_t> Indices(const View& view);
// Appends the elements of a view to a table.
void AppendTo(Table* table, const View& view);

std::vector<int64_t> DenseStrides(const std::vector<std::size_t>& shape);
// Returns whether the elements are contiguous.
bool IsDense(const View& view);
std::size_t Product(const std::vector<std::size_t>& shape);
std::string ShapeText(const std::vector<std::size_t>& shape);

// Broadcasts a shape with another one; returns false if they do not match.
template <typename Size>
bool Broadcast(std::vector<Size>* shape, const std::vector<Size>& other) {
  if (other.size() > shape->size()) shape->insert(shape->begin(), other.size() - shape->size(), 1);
  for (std::size_t i = 0; i < other.size(); ++i) {
    Size& size = (*shape)[shape->size() - other.size() + i];
    if (size != other[i] && size != 1 && other[i] != 1) return false;
    if (size == 1) size = other[i];
  }
  return true;
}

// Returns the shape that NumPy broadcasts the tensors to; throws if they cannot be broadcast together.
std::vector<std::size_t> BroadcastShape(const std::vector<poplar::Tensor>& tensors);
poplar::Tensor BroadcastTo(const poplar::Tensor& tensor, const std::vector<std::size_t>& shape);

}  // namespace popart_cpu
