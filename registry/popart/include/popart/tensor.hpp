// An input or output of an op.
#pragma once

#include <popart/tensorinfo.hpp>

namespace popart {

class Tensor {
 public:
  Tensor(TensorId id, TensorInfo info) : id(std::move(id)), info(std::move(info)) {}

  TensorId id;
  TensorInfo info;

  std::string str() const { return id; }
};

}  // namespace popart
