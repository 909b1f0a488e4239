#include "operator.h"

#include <algorithm>

#include "../host/backward.h"
#include "../host/dtype.h"
#include "../host/error.h"

namespace pykernels::mxnet {
namespace {

// Indexed by MXNet's number.
constexpr int32_t kTypes[] = {PK_FLOAT32, PK_FLOAT64, PK_FLOAT16, PK_UINT8,  PK_INT32,  PK_INT8,    PK_INT64,
                              PK_BOOL,    PK_INT16,   PK_UINT16,  PK_UINT32, PK_UINT64, PK_BFLOAT16};

Target ToTarget(const Array& array, int request) {
  if (request == kReqNull) return {};
  if (array.is_none) Fail(kPykernelsError, "MXNet asks for a result, but gives no array for it");
  return {array.data, request == kReqAdd ? Request::kAdd : Request::kWrite};
}

std::vector<const void*> Buffers(const std::vector<Array>& arrays) {
  std::vector<const void*> buffers;
  for (const Array& array : arrays) buffers.push_back(array.data);
  return buffers;
}

bool AnyDiffers(const std::vector<Array>& arrays, const Tensors& types) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (Differs(arrays[i], types[i])) return true;
  }
  return false;
}

void RequireTypes(const Instance& instance, const std::vector<Array>& arrays, const Tensors& types,
                  const std::vector<std::string>& names, const char* what) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!Differs(arrays[i], types[i])) continue;
    Fail(kPykernelsError, "op '", instance.label(), "': MXNet gives ", Describe(arrays[i].type), " for the ", what,
         " '", names[i], "', but ", Describe(types[i]), " is inferred");
  }
}

// Reads the arrays of a pass in MXNet's order and frees their handles at the end.
class PassArrays {
 public:
  PassArrays(int n, void** handles) : handles_(handles, handles + n) {}

  // Returns the next `count` arrays.
  std::vector<Array> Take(size_t count) {
    std::vector<Array> arrays;
    for (size_t i = 0; i < count; ++i) arrays.push_back(Read(handles_.at(next_++).get()));
    return arrays;
  }

 private:
  static Array Read(NDArrayHandle handle) {
    Array array = ReadType(handle);
    // MXNet crashes when asked for the data of an array that it did not keep.
    if (array.type.dtype == PK_INVALID_DTYPE) return array;
    void* data = nullptr;
    Check(Api().NDArrayGetData(handle, &data));
    SetData(data, &array);
    return array;
  }

  const std::vector<OwnedArray> handles_;
  size_t next_ = 0;
};

}  // namespace

int32_t FromMXNetType(int type) {
  const bool known = type >= 0 && static_cast<size_t>(type) < std::size(kTypes);
  return known ? kTypes[type] : PK_INVALID_DTYPE;
}

int ToMXNetType(int32_t dtype) {
  const auto* found = std::find(std::begin(kTypes), std::end(kTypes), dtype);
  return found == std::end(kTypes) ? kUnknownType : static_cast<int>(found - kTypes);
}

Array ReadType(NDArrayHandle handle) {
  Array array;
  int storage = kStorageNone;
  Check(Api().NDArrayGetStorageType(handle, &storage));
  if (storage == kStorageNone) return array;
  if (storage != kStorageDefault) Fail(kCallError, "kernels compute with dense arrays only");
  int dtype = kUnknownType;
  int ndim = -1;
  const int* dims = nullptr;
  Check(Api().NDArrayGetDType(handle, &dtype));
  Check(Api().NDArrayGetShapeEx(handle, &ndim, &dims));
  if (ndim > PK_MAX_NDIM) Fail(kCallError, "kernels compute with arrays of at most ", PK_MAX_NDIM, " axes, not ", ndim);
  array.type.dtype = FromMXNetType(dtype);
  array.type.ndim = ndim;
  std::copy(dims, dims + std::max(ndim, 0), array.type.dims);
  return array;
}

void SetData(void* data, Array* array) {
  array->data = data || CountElements(array->type) > 0 ? data : nowhere;
  array->is_none = !array->data;
}

bool Differs(const Array& array, const pk_tensor& type) {
  return !array.is_none && !(array.type.dtype == type.dtype && SameShape(array.type, type));
}

std::vector<Target> ToTargets(const std::vector<Array>& arrays, const int* requests) {
  std::vector<Target> targets;
  for (size_t i = 0; i < arrays.size(); ++i) targets.push_back(ToTarget(arrays[i], requests[i]));
  return targets;
}

Array ReadIfDense(NDArrayHandle handle) {
  int storage = kStorageNone;
  Check(Api().NDArrayGetStorageType(handle, &storage));
  if (storage != kStorageDefault) return Array();
  Array array = ReadType(handle);
  if (array.type.ndim < 0 || ItemSize(array.type.dtype) == 0 || CountElements(array.type) == 0) return Array();
  void* data = nullptr;
  Check(Api().NDArrayGetData(handle, &data));
  SetData(data, &array);
  return array;
}

Operator::Operator(std::shared_ptr<const Instance> instance, const Tensors& inputs)
    : instance_(std::move(instance)), specialization_(instance_->Specialize(inputs)) {
  specialization_->Kernel();
}

void Operator::PrepareBackward() const { specialization_->Backward().Resolve(); }

void Operator::Run(Pass pass, int n, void** handles, const int* /*tags*/, const int* requests, bool is_train) {
  PassArrays arrays(n, handles);
  const size_t n_outputs = instance_->blank_outputs().size();
  const size_t n_arguments = instance_->blank_inputs().size() - instance_->n_states();
  std::vector<Array> output_gradients, input_gradients;
  if (pass == Pass::kBackward) output_gradients = arrays.Take(n_outputs);
  std::vector<Array> inputs = arrays.Take(n_arguments);
  const std::vector<Array> outputs = arrays.Take(n_outputs);
  if (pass == Pass::kBackward) input_gradients = arrays.Take(n_arguments);
  const std::vector<Array> states = arrays.Take(instance_->n_states());
  inputs.insert(inputs.end(), states.begin(), states.end());
  if (pass == Pass::kForward) return Forward(inputs, outputs, requests, is_train);
  Backward(output_gradients, inputs, outputs, input_gradients, requests, is_train);
}

std::shared_ptr<const Specialization> Operator::SpecializeFor(const std::vector<Array>& inputs) const {
  if (!AnyDiffers(inputs, specialization_->inputs())) return specialization_;
  // MXNet sometimes runs the op on other shapes than it was prepared for.
  Tensors types = instance_->blank_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_none) {
      Fail(kPykernelsError, "op '", instance_->label(), "': MXNet gives no array for '", instance_->input_names()[i],
           "'");
    }
    types[i].dtype = inputs[i].type.dtype;
    CopyShape(inputs[i].type, &types[i]);
  }
  return instance_->Specialize(types);
}

void Operator::Forward(const std::vector<Array>& inputs, const std::vector<Array>& outputs, const int* requests,
                       bool is_train) const {
  const std::vector<Target> targets = ToTargets(outputs, requests);
  const auto forward = OrFillFailed(outputs, targets, [&] {
    auto made = SpecializeFor(inputs);
    RequireTypes(*instance_, outputs, made->outputs(), instance_->output_names(), "output");
    return made;
  });
  RunForward(*forward, Buffers(inputs), targets, is_train);
}

void Operator::Backward(const std::vector<Array>& output_gradients, const std::vector<Array>& inputs,
                        const std::vector<Array>& outputs, const std::vector<Array>& input_gradients,
                        const int* requests, bool is_train) const {
  std::vector<Target> targets = ToTargets(input_gradients, requests);
  const auto forward = OrFillFailed(input_gradients, targets, [&] {
    // The gradients have the types of the inputs; MXNet need not keep the inputs themselves.
    std::vector<Array> types = input_gradients;
    types.insert(types.end(), inputs.begin() + input_gradients.size(), inputs.end());
    auto made = SpecializeFor(types);
    RequireTypes(*instance_, inputs, made->inputs(), instance_->input_names(), "input");
    RequireTypes(*instance_, outputs, made->outputs(), instance_->output_names(), "output");
    RequireTypes(*instance_, output_gradients, made->outputs(), instance_->output_names(), "gradient of");
    return made;
  });
  targets.resize(inputs.size());
  RunBackward(*forward, {Buffers(inputs), Buffers(outputs), Buffers(output_gradients)}, targets, is_train);
}

}  // namespace pykernels::mxnet
