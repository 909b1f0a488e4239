// Shape inference of models; here the op's setup() does it, and registered functions are never called.
#pragma once

#include <functional>
#include <map>

#include <popart/attributes.hpp>
#include <popart/operatoridentifier.hpp>
#include <popart/tensorinfo.hpp>

namespace popart {

class ShapeInferenceContext {
 public:
  const TensorInfo& inInfo(int i) const { return inputs_.at(i); }
  const Shape& inShape(int i) const { return inputs_.at(i).shape(); }
  DataType inType(int i) const { return inputs_.at(i).dataType(); }
  TensorInfo& outInfo(int i) { return outputs_[i]; }
  const Attributes& getAttributes() const { return attributes_; }
  template <typename T>
  T getAttribute(const std::string& key) const {
    return attributes_.getAttribute<T>(key);
  }
  template <typename T>
  T getAttribute(const std::string& key, const T& initial) const {
    return attributes_.getAttribute<T>(key, initial);
  }

 private:
  std::map<int, TensorInfo> inputs_;
  std::map<int, TensorInfo> outputs_;
  Attributes attributes_;
};

using ShapeInferenceFunction = std::function<void(ShapeInferenceContext&)>;

class RegisterShapeInferenceFunction {
 public:
  RegisterShapeInferenceFunction(const OperatorIdentifier&, ShapeInferenceFunction) {}
};

}  // namespace popart
