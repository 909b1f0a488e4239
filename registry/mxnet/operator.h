// An op at one place in an MXNet graph, which runs on MXNet's arrays.
#pragma once

#include <memory>
#include <vector>

#include "../host/execute.h"
#include "../host/instance.h"
#include "../host/specialization.h"
#include "callbacks.h"

namespace pykernels::mxnet {

// Convert MXNet's type number to a pk_dtype and back; kUnknownType corresponds to PK_INVALID_DTYPE.
int32_t FromMXNetType(int type);
int ToMXNetType(int32_t dtype);

// The contents of an NDArray. It has none if MXNet did not keep it for the backward pass or needs no result for it.
struct Array {
  void* data = nullptr;
  pk_tensor type{};
  bool is_none = true;
};

// Returns the dtype and shape of a dense NDArray. Until SetData sets its data, the array counts as none.
Array ReadType(NDArrayHandle handle);
void SetData(void* data, Array* array);

// Returns a dense NDArray that has elements, with its data, or none.
Array ReadIfDense(NDArrayHandle handle);

// Creates the property of a use of one of our ops, with the attributes as strings; called by MXNet.
int CreateProperty(const char* op_type, int num_kwargs, const char** keys, const char** values, MXCallbackList* ret);

// Returns whether an existing array has another type than it should have.
bool Differs(const Array& array, const pk_tensor& type);

std::vector<Target> ToTargets(const std::vector<Array>& arrays, const int* requests);

// Returns the result of `prepare`; if it throws, fills the targets so that no old numbers look like results.
template <typename Prepare>
auto OrFillFailed(const std::vector<Array>& arrays, const std::vector<Target>& targets, const Prepare& prepare) {
  try {
    return prepare();
  } catch (...) {
    Tensors types;
    for (const Array& array : arrays) types.push_back(array.type);
    FillFailedTargets(types, targets);
    throw;
  }
}

// Sets the storage types of the arrays of a gradient, which are dense; throws if one is another already.
void InferDenseStorage(const std::string& gradient, int n, int* storages);

class Operator final : public CustomOperator {
 public:
  Operator(std::shared_ptr<const Instance> instance, const Tensors& inputs);

  const Specialization& specialization() const { return *specialization_; }

  // Resolves the kernels of the backward pass.
  void PrepareBackward() const;

  // Runs a pass on one of MXNet's threads for custom operators.
  void Run(Pass pass, int n, void** handles, const int* tags, const int* requests, bool is_train) override;

  // `inputs` end with the states. `requests` holds one of Req for each output.
  void Forward(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const int* requests,
               bool is_train) const;

  // `input_gradients` and `requests` are for the arguments only: states have no gradient.
  void Backward(const std::vector<Array>& output_gradients, const std::vector<Array>& inputs,
                const std::vector<Array>& outputs, const std::vector<Array>& input_gradients, const int* requests,
                bool is_train) const;

 private:
  std::shared_ptr<const Specialization> SpecializeFor(const std::vector<Array>& inputs) const;

  const std::shared_ptr<const Instance> instance_;
  const std::shared_ptr<const Specialization> specialization_;
};

}  // namespace pykernels::mxnet
