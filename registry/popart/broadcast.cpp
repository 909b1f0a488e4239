#include "broadcast.h"

#include <poputil/Broadcast.hpp>
#include <poputil/exceptions.hpp>

#include <algorithm>

#include "view.h"

namespace popart_cpu {

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
