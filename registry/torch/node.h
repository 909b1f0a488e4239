// How PyTorch holds the nodes of its autograd graph: in std::shared_ptr, or in c10::intrusive_ptr in later versions.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "headers.h"

namespace pykernels::torch_ops {

using NodePointer = decltype(torch::autograd::Edge::function);

// Both functions are templates because their branches use names that only some versions have.
template <typename T, typename Pointer = NodePointer, typename... Args>
auto MakeNode(Args&&... args) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    // Frees long chains of nodes without recursion.
    return std::shared_ptr<T>(new T(std::forward<Args>(args)...), [](T* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  }
}

template <typename T, typename Pointer = NodePointer>
Pointer PointerTo(T* node) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<torch::autograd::Node>>) {
    return node->shared_from_this();
  } else {
    return Pointer::reclaim_copy(node);
  }
}

}  // namespace pykernels::torch_ops
