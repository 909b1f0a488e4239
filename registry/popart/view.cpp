#include "view.h"

#include <poputil/Broadcast.hpp>
#include <poputil/exceptions.hpp>

#include <algorithm>

namespace popart_cpu {

std::vector<int64_t> Indices(const View& view) {
  std::vector<int64_t> indices;
  indices.reserve(view.n_elements());
  if (view.n_elements() == 0) return indices;
  std::vector<std::size_t> at(view.shape.size());
  int64_t index = view.offset;
  while (true) {
    indices.push_back(index);
    std::size_t i = at.size();
    for (; i-- > 0;) {
      index += view.strides[i];
      if (++at[i] < view.shape[i]) break;
      index -= view.strides[i] * static_cast<int64_t>(view.shape[i]);
      at[i] = 0;
    }
    if (i == static_cast<std::size_t>(-1)) return indices;
  }
}

std::size_t View::n_elements() const { return Product(shape); }

std::size_t Product(const std::vector<std::size_t>& shape) {
  std::size_t product = 1;
  for (std::size_t size : shape) product *= size;
  return product;
}

std::string ShapeText(const std::vector<std::size_t>& shape) {
  std::string text;
  for (std::size_t size : shape) text += (text.empty() ? "" : ",") + std::to_string(size);
  return "{" + text + "}";
}

std::vector<int64_t> DenseStrides(const std::vector<std::size_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= static_cast<int64_t>(shape[i])) strides[i] = stride;
  return strides;
}

bool IsDense(const View& view) {
  int64_t stride = 1;
  for (std::size_t i = view.shape.size(); i-- > 0; stride *= static_cast<int64_t>(view.shape[i])) {
    if (view.shape[i] != 1 && view.strides[i] != stride) return view.n_elements() == 0;
  }
  return true;
}

poplar::Tensor TensorOf(std::shared_ptr<const Variable> variable, std::vector<std::size_t> shape) {
  const poplar::Type type = variable->type;
  View view{type, shape, DenseStrides(shape), 0, std::move(variable), nullptr};
  return poplar::Tensor(std::make_shared<View>(std::move(view)));
}

poplar::Tensor TensorOf(std::shared_ptr<const Table> table, poplar::Type type, std::vector<std::size_t> shape) {
  View view{type, shape, DenseStrides(shape), 0, nullptr, std::move(table)};
  return poplar::Tensor(std::make_shared<View>(std::move(view)));
}

void AppendTo(Table* table, const View& view) {
  std::vector<uint32_t> numbers;  // positions in `table` of the view's variables
  const auto number = [&](const std::shared_ptr<const Variable>& variable) {
    const auto found = std::find(table->variables.begin(), table->variables.end(), variable);
    const auto place = static_cast<uint32_t>(found - table->variables.begin());
    if (place == table->variables.size()) table->variables.push_back(variable);
    return place;
  };
  if (view.variable) {
    numbers.push_back(number(view.variable));
  } else {
    for (const auto& variable : view.table->variables) numbers.push_back(number(variable));
  }
  for (int64_t index : Indices(view)) {
    if (view.variable) {
      table->elements.push_back({numbers[0], index});
    } else {
      const Table::Element& element = view.table->elements[index];
      table->elements.push_back({numbers[element.variable], element.index});
    }
  }
}

std::vector<std::size_t> BroadcastShape(const std::vector<poplar::Tensor>& tensors) {
  std::vector<std::size_t> shape;
  for (const poplar::Tensor& tensor : tensors) {
    if (Broadcast(&shape, tensor.shape())) continue;
    std::string shapes;
    for (const poplar::Tensor& each : tensors) shapes += (shapes.empty() ? "" : ", ") + each.shapeToString();
    throw poputil::poplibs_error("tensors of the shapes " + shapes + " cannot be broadcast to one shape");
  }
  return shape;
}

poplar::Tensor BroadcastTo(const poplar::Tensor& tensor, const std::vector<std::size_t>& shape) {
  auto view = std::make_shared<View>(*tensor.view());
  const std::size_t more = shape.size() - std::min(shape.size(), view->shape.size());
  view->shape.insert(view->shape.begin(), more, 1);
  view->strides.insert(view->strides.begin(), more, 0);
  for (std::size_t i = 0; i < shape.size() || i < view->shape.size(); ++i) {
    if (i < shape.size() && view->shape[i] == shape[i]) continue;
    if (i >= shape.size() || view->shape[i] != 1) {
      throw poputil::poplibs_error("a tensor of shape " + tensor.shapeToString() + " cannot be broadcast to shape " +
                                   ShapeText(shape));
    }
    view->shape[i] = shape[i];
    view->strides[i] = 0;
  }
  return poplar::Tensor(view);
}

}  // namespace popart_cpu

namespace poputil {

using poplar::Tensor;

void expandToMatchRanks(Tensor& a, Tensor& b) {
  const auto expand = [](Tensor& tensor, unsigned rank) {
    if (tensor.rank() < rank) tensor = tensor.expand(std::vector<std::size_t>(rank - tensor.rank(), 0));
  };
  expand(a, b.rank());
  expand(b, a.rank());
}

void broadcastToMatch(Tensor& a, const std::vector<std::size_t>& shape) { a = popart_cpu::BroadcastTo(a, shape); }

void broadcastToMatch(Tensor& a, Tensor& b) {
  const std::vector<std::size_t> shape = popart_cpu::BroadcastShape({a, b});
  broadcastToMatch(a, shape);
  broadcastToMatch(b, shape);
}

void broadcastToMatch(Tensor& a, Tensor& b, Tensor& c) {
  const std::vector<std::size_t> shape = popart_cpu::BroadcastShape({a, b, c});
  for (Tensor* each : {&a, &b, &c}) broadcastToMatch(*each, shape);
}

bool canBroadcastToMatch(const Tensor& a, const Tensor& b) {
  std::vector<std::size_t> shape = a.shape();
  return popart_cpu::Broadcast(&shape, b.shape());
}

}  // namespace poputil
