// The inputs, or the outputs, of an op.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <popart/tensor.hpp>

namespace popart {

class TensorIndexMap {
 public:
  bool hasIndex(int index) const { return tensors_.count(index) != 0; }
  int n() const { return static_cast<int>(tensors_.size()); }
  // Throws if there is no tensor at this index.
  Tensor* tensor(int index) const;
  const TensorId& id(int index) const { return tensor(index)->id; }
  std::map<int, TensorId> tensorIdMap() const;

  void insert(int index, Tensor tensor) { tensors_[index] = std::make_shared<Tensor>(std::move(tensor)); }
  void clear() { tensors_.clear(); }

 private:
  std::map<int, std::shared_ptr<Tensor>> tensors_;
};

}  // namespace popart
