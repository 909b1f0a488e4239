// An op at one place of an MXNet graph, and how it runs on MXNet's arrays.
#ifndef PYKERNELS_REGISTRY_MXNET_OPERATOR_H_
#define PYKERNELS_REGISTRY_MXNET_OPERATOR_H_

#include <memory>
#include <vector>

#include "../host/execute.h"
#include "../host/instance.h"
#include "../host/specialization.h"
#include "api.h"

namespace pykernels::mxnet {

// The pk_dtype of MXNet's number, and the other way; PK_INVALID_DTYPE and kUnknownType stand for each other.
int32_t FromMXNetType(int type);
int ToMXNetType(int32_t dtype);

// What is in an NDArray. One that MXNet did not keep for the backward pass, or wants no result for, is none.
struct Array {
  void* data = nullptr;
  pk_tensor type{};
  bool is_none = true;
};

// The dtype and shape of a dense NDArray. Without its data the array is none: see SetData.
Array ReadType(NDArrayHandle handle);
void SetData(void* data, Array* array);

// A dense NDArray with elements and its data, or none.
Array ReadIfDense(NDArrayHandle handle);

class Operator {
 public:
  Operator(std::shared_ptr<const Instance> instance, const Tensors& inputs);

  const Instance& instance() const { return *instance_; }

  // Resolves the kernels of the backward pass.
  void PrepareBackward() const;

  // `inputs` end with the states. `requests` holds one of Req for each output.
  void Forward(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const int* requests,
               bool is_train) const;

  // `input_gradients` and `requests` are of the arguments only: states have no gradient.
  void Backward(const std::vector<Array>& output_gradients, const std::vector<Array>& inputs,
                const std::vector<Array>& outputs, const std::vector<Array>& input_gradients, const int* requests,
                bool is_train) const;

 private:
  std::shared_ptr<const Specialization> SpecializeFor(const std::vector<Array>& inputs) const;

  const std::shared_ptr<const Instance> instance_;
  const std::shared_ptr<const Specialization> specialization_;
};

}  // namespace pykernels::mxnet

#endif  // PYKERNELS_REGISTRY_MXNET_OPERATOR_H_
