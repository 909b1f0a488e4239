#include "property.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "../host/dtype.h"
#include "../host/error.h"
#include "../host/instance.h"
#include "callbacks.h"
#include "handles.h"
#include "operator.h"
#include "use.h"

namespace pykernels::mxnet {
namespace {

// -- An operator at one place of a graph ------------------------------------------------------------------------------

struct OperatorState {
  Operator op;
  void* contexts[3];
};

int DeleteOperator(void* state) {
  delete static_cast<OperatorState*>(state);
  return 1;
}

int ForwardCallback(int n, void** handles, int* /*tags*/, const int* requests, int is_train, void* state) {
  const Operator& op = static_cast<OperatorState*>(state)->op;
  return Guard([&] { ForwardHandles(op, n, handles, requests, is_train); });
}

int BackwardCallback(int n, void** handles, int* /*tags*/, const int* requests, int is_train, void* state) {
  const Operator& op = static_cast<OperatorState*>(state)->op;
  return Guard([&] { BackwardHandles(op, n, handles, requests, is_train); });
}

MXCallback operator_callbacks[] = {Generic(DeleteOperator), Generic(ForwardCallback), Generic(BackwardCallback)};

// -- A use of an op with its attributes -------------------------------------------------------------------------------

struct Property {
  std::shared_ptr<const Instance> instance;
  void* contexts[10];
};

const Instance& Of(void* state) { return *static_cast<Property*>(state)->instance; }

int DeleteProperty(void* state) {
  delete static_cast<Property*>(state);
  return 1;
}

size_t CountArguments(const Instance& instance) { return instance.input_names().size() - instance.n_states(); }

// Lists the arguments. Inputs that the kernel changes are auxiliary states, which MXNet keeps separately.
int ListArguments(char*** list, void* state) {
  return ListNames(Of(state).input_names(), 0, CountArguments(Of(state)), list);
}

int ListOutputs(char*** list, void* state) {
  return ListNames(Of(state).output_names(), 0, Of(state).output_names().size(), list);
}

int ListAuxiliaryStates(char*** list, void* state) {
  return ListNames(Of(state).input_names(), CountArguments(Of(state)), Of(state).input_names().size(), list);
}

// Calls `visit` for every tensor in the order of MXNet's inference: arguments, outputs, states.
template <typename Visit>
void ForEachInferred(const Instance& instance, Tensors* inputs, Tensors* outputs, const Visit& visit) {
  const size_t n_arguments = CountArguments(instance);
  size_t at = 0;
  for (size_t i = 0; i < n_arguments; ++i) visit(at++, instance.input_names()[i], &(*inputs)[i], true);
  for (size_t i = 0; i < outputs->size(); ++i) visit(at++, instance.output_names()[i], &(*outputs)[i], false);
  for (size_t i = n_arguments; i < inputs->size(); ++i) visit(at++, instance.input_names()[i], &(*inputs)[i], true);
}

void WriteShape(const Instance& instance, const pk_tensor& tensor, std::vector<int>* buffer, int* ndim, int** dims) {
  // MXNet does not accept an unknown rank here: it reads a rank of 0 as a known rank.
  if (tensor.ndim < 0) {
    Fail(kCallError, "op '", instance.label(), "': the shape of '", tensor.argument,
         "' cannot be inferred from those that are known, "
         "and MXNet lets no custom operator leave one open; give the shapes of its inputs");
  }
  buffer->clear();
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) {
    if (tensor.dims[axis] > INT_MAX) {
      Fail(kCallError, "op '", instance.label(), "': '", tensor.argument, "' is ", Describe(tensor),
           ", too large for MXNet");
    }
    buffer->push_back(static_cast<int>(tensor.dims[axis]));
  }
  *ndim = tensor.ndim;
  *dims = buffer->data();
}

// Reads a shape that MXNet writes; -1 is unknown.
template <typename Dim>
void ReadShape(const Instance& instance, int ndim, const Dim* dims, pk_tensor* tensor) {
  if (ndim > PK_MAX_NDIM) {
    Fail(kCallError, "op '", instance.label(), "' takes arrays of at most ", PK_MAX_NDIM, " axes, but '",
         tensor->argument, "' has ", ndim);
  }
  tensor->ndim = ndim;
  for (int axis = 0; axis < ndim; ++axis) tensor->dims[axis] = static_cast<int>(dims[axis]);
}

int InferShape(int n, int* ndims, int** shapes, void* state) {
  return Guard([&] {
    const Instance& instance = Of(state);
    Tensors inputs = instance.blank_inputs();
    Tensors outputs = instance.blank_outputs();
    // MXNet writes the shapes of all inputs first, with the states after the arguments.
    for (size_t i = 0; i < inputs.size(); ++i) ReadShape(instance, ndims[i], shapes[i], &inputs[i]);
    instance.InferShapes(&inputs, &outputs);
    // Static: MXNet reads them before this thread comes here again.
    static thread_local std::vector<std::vector<int>> buffers;
    buffers.resize(std::max<size_t>(buffers.size(), n));
    ForEachInferred(instance, &inputs, &outputs, [&](size_t at, const std::string&, pk_tensor* tensor, bool) {
      WriteShape(instance, *tensor, &buffers[at], &ndims[at], &shapes[at]);
    });
  });
}

int InferType(int /*n*/, int* types, void* state) {
  return Guard([&] {
    const Instance& instance = Of(state);
    Tensors inputs = instance.blank_inputs();
    Tensors outputs = instance.blank_outputs();
    ForEachInferred(instance, &inputs, &outputs, [&](size_t at, const auto& name, pk_tensor* tensor, bool is_input) {
      if (!is_input) return;
      tensor->dtype = FromMXNetType(types[at]);
      if (types[at] != kUnknownType && tensor->dtype == PK_INVALID_DTYPE) {
        Fail(kCallError, "op '", instance.label(), "': '", name, "' has MXNet's type ", types[at],
             ", but kernels compute with ", SupportedDtypes());
      }
    });
    instance.InferDtypes(&inputs, &outputs);
    ForEachInferred(instance, &inputs, &outputs, [&](size_t at, const std::string&, pk_tensor* tensor, bool) {
      types[at] = ToMXNetType(tensor->dtype);
    });
  });
}

const char* StorageName(int storage) { return storage == kStorageCsr ? "csr" : "row_sparse"; }

int InferStorageType(int /*n*/, int* storages, void* state) {
  return Guard([&] {
    const Instance& instance = Of(state);
    Tensors inputs = instance.blank_inputs();
    Tensors outputs = instance.blank_outputs();
    ForEachInferred(instance, &inputs, &outputs, [&](size_t at, const std::string& name, pk_tensor*, bool) {
      if (storages[at] > kStorageDefault) {
        Fail(kCallError, "op '", instance.label(), "': '", name, "' is a ", StorageName(storages[at]),
             " array, but kernels compute with dense ones; convert it with .tostype('default')");
      }
      storages[at] = kStorageDefault;
    });
  });
}

int InferBackwardStorageType(int n, int* storages, int* /*tags*/, void* state) {
  return Guard([&] {
    for (int i = 0; i < n; ++i) {
      if (storages[i] > kStorageDefault) {
        Fail(kCallError, "the gradient of op '", Of(state).label(), "' meets a ", StorageName(storages[i]),
             " array, but kernels compute with dense ones; use dense gradients (grad_stype='default')");
      }
      storages[i] = kStorageDefault;
    }
  });
}

int DeclareBackwardDependency(const int* output_gradients, const int* inputs, const int* outputs, int* n, int** list,
                              void* state) {
  static thread_local std::vector<int> needed;
  const Dependencies& dependencies = Of(state).dependencies();
  const auto append = [](const int* ids, const std::vector<bool>& wanted) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) needed.push_back(ids[i]);
    }
  };
  needed.clear();
  append(output_gradients, dependencies.output_gradients);
  // MXNet always passes the states, and they have no number here.
  append(inputs, {dependencies.inputs.begin(), dependencies.inputs.begin() + CountArguments(Of(state))});
  append(outputs, dependencies.outputs);
  // MXNet takes the device of the backward pass from the arrays that it reads, so request at least one.
  if (needed.empty()) needed.assign(output_gradients, output_gradients + dependencies.output_gradients.size());
  *n = static_cast<int>(needed.size());
  *list = needed.data();
  return 1;
}

bool IsRecording() {
  bool recording = false;
  Api().AutogradIsRecording(&recording);
  return recording;
}

int CreateOperator(const char* context, int n, unsigned** shapes, const int* ndims, const int* types,
                   MXCallbackList* ret, void* state) {
  SetNothing(ret);
  return Guard([&] {
    const std::shared_ptr<const Instance>& instance = static_cast<Property*>(state)->instance;
    if (std::strncmp(context, "cpu", 3) != 0) {
      Fail(kCallError, "op '", instance->label(), "' runs on the CPU only, but its arrays are on ", context);
    }
    Tensors inputs = instance->blank_inputs();
    for (int i = 0; i < n; ++i) {
      inputs[i].dtype = FromMXNetType(types[i]);
      ReadShape(*instance, ndims[i], shapes[i], &inputs[i]);
      if (!IsKnown(inputs[i])) {
        Fail(kCallError, "op '", instance->label(), "': the shape of '", instance->input_names()[i],
             "' is unknown or has a ",
             "dimension of 0, which mean the same to MXNet unless mx.util.set_np_shape(True) is in force");
      }
    }
    auto made = std::make_unique<OperatorState>(OperatorState{Operator(instance, inputs), {}});
    if (IsRecording() && instance->op().has_gradient()) made->op.PrepareBackward();
    for (void*& each : made->contexts) each = made.get();
    *ret = {3, operator_callbacks, made->contexts};
    made.release();
  });
}

MXCallback property_callbacks[] = {
    Generic(DeleteProperty),   Generic(ListArguments),
    Generic(ListOutputs),      Generic(ListAuxiliaryStates),
    Generic(InferShape),       Generic(DeclareBackwardDependency),
    Generic(CreateOperator),   Generic(InferType),
    Generic(InferStorageType), Generic(InferBackwardStorageType),
};

}  // namespace

int CreateProperty(const char* op_type, int num_kwargs, const char** keys, const char** values, MXCallbackList* ret) {
  SetNothing(ret);
  return Guard([&] {
    auto made = std::make_unique<Property>(Property{FindUse(op_type, num_kwargs, keys, values), {}});
    for (void*& each : made->contexts) each = made.get();
    *ret = {10, property_callbacks, made->contexts};
    made.release();
  });
}

bool IsProperty(const MXCallbackList& list) { return list.callbacks == property_callbacks; }

const Operator* AsOperator(const MXCallbackList& list) {
  if (list.callbacks != operator_callbacks) return nullptr;
  return &static_cast<OperatorState*>(list.contexts[0])->op;
}

}  // namespace pykernels::mxnet
