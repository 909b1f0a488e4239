// What tensors are views of.
#ifndef PYKERNELS_REGISTRY_POPART_VIEW_H_
#define PYKERNELS_REGISTRY_POPART_VIEW_H_

#include <poplar/Tensor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace popart_cpu {

// Elements one after the other, which a program reads and writes.
struct Variable {
  poplar::Type type;
  std::size_t n_elements;
  int input = -1;                // of which input of the op they are
  std::vector<char> constant{};  // their bytes, if they never change
  bool is_constant = false;
};

// Elements of any variables, one after the other.
struct Table {
  std::vector<std::shared_ptr<const Variable>> variables;
  struct Element {
    uint32_t variable;
    int64_t index;
  };
  std::vector<Element> elements;
};

// The elements with index offset + sum(strides[i] * index[i]) of a variable or of a table.
struct View {
  poplar::Type type;
  std::vector<std::size_t> shape;
  std::vector<int64_t> strides;
  int64_t offset = 0;
  std::shared_ptr<const Variable> variable;
  std::shared_ptr<const Table> table;  // if there is no variable

  std::size_t n_elements() const;
};

// All of a variable, and all of a table.
poplar::Tensor TensorOf(std::shared_ptr<const Variable> variable, std::vector<std::size_t> shape);
poplar::Tensor TensorOfTable(std::shared_ptr<const Table> table, poplar::Type type, std::vector<std::size_t> shape);

// Puts the elements of a view behind those of a table.
void AppendTo(Table* table, const View& view);

std::vector<int64_t> DenseStrides(const std::vector<std::size_t>& shape);
// Whether the elements lie one after the other.
bool IsDense(const View& view);
std::size_t Product(const std::vector<std::size_t>& shape);
std::string ShapeText(const std::vector<std::size_t>& shape);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_VIEW_H_
