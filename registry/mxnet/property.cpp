// The properties of our ops: what MXNet asks about a use of an op before any data flows.
#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>

#include "../host/dtype.h"
#include "../host/error.h"
#include "../host/instance.h"
#include "../host/literal.h"
#include "operator.h"

namespace pykernels::mxnet {
namespace {

// Returns whether this is an attribute of the graph rather than the op, such as __ctx_group__.
bool IsGraphAttribute(const std::string& name) {
  return name.size() > 4 && name.compare(0, 2, "__") == 0 && name.compare(name.size() - 2, 2, "__") == 0;
}

bool Declares(const pk_op& op, const std::string& name) {
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    if (name == op.attributes[i].initial.name) return true;
  }
  return false;
}

int32_t ParseCount(const std::string& text) {
  const std::optional<int64_t> count = ParseInteger(text);
  return count && *count >= 0 && *count <= INT_MAX ? static_cast<int32_t>(*count) : -1;
}

// Parses "3" (arrays in total) or "(2, 1)" (arrays per argument).
TensorCount ParseCounts(const std::string& label, const std::string& name, const std::string& text) {
  TensorCount counts;
  counts.in_all = ParseCount(text);
  if (counts.in_all >= 0) return counts;
  const auto items = ParseItems(text);
  bool is_right = items && !items->empty();
  for (size_t i = 0; is_right && i < items->size(); ++i) {
    counts.of_each.push_back(ParseCount((*items)[i]));
    is_right = counts.of_each.back() >= 0;
  }
  if (!is_right) {
    Fail(kCallError, "op '", label, "': '", name,
         "' must be a number of arrays such as 3, or one for each argument such as (2, 1), "
         "got '", text, "'");
  }
  return counts;
}

// Returns the instance of the op that users call `label`, with `n` attributes. MXNet does not pass the number of arrays
// of a call, so for an op with optional or repeated arguments the attributes num_args and num_outputs give it.
std::shared_ptr<const Instance> FindUse(const std::string& label, int n, const char** keys, const char** values) {
  static auto* cache = new InstanceCache;  // never destroyed: MXNet's threads may outlive static objects
  const std::shared_ptr<const Op> op = OpTable::Get().Find(label);
  Attributes::Strings attributes;
  TensorCount inputs;
  TensorCount outputs;
  for (int i = 0; i < n; ++i) {
    const std::string name = keys[i];
    if (IsGraphAttribute(name)) continue;
    if (name == "num_args" && !Declares(op->declared(), name)) {
      inputs = ParseCounts(label, name, values[i]);
    } else if (name == "num_outputs" && !Declares(op->declared(), name)) {
      outputs = ParseCounts(label, name, values[i]);
    } else {
      attributes.emplace_back(name, values[i]);
    }
  }
  return cache->Get(op, label, attributes, inputs, outputs);
}

size_t CountArguments(const Instance& instance) { return instance.input_names().size() - instance.n_states(); }

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

const char* StorageName(int storage) { return storage == kStorageCsr ? "csr" : "row_sparse"; }

bool IsRecording() {
  bool recording = false;
  Api().AutogradIsRecording(&recording);
  return recording;
}

class Property final : public CustomProperty {
 public:
  explicit Property(std::shared_ptr<const Instance> instance) : instance_(std::move(instance)) {
    const std::vector<std::string>& inputs = instance_->input_names();
    // Inputs that the kernel changes are auxiliary states, which MXNet keeps separately.
    const auto first_state = inputs.begin() + CountArguments(*instance_);
    names_.reserve(inputs.size() + instance_->output_names().size() + 3);
    argument_names = AddNames(inputs.begin(), first_state);
    state_names = AddNames(first_state, inputs.end());
    output_names = AddNames(instance_->output_names().begin(), instance_->output_names().end());
  }

  bool RunsInEngine() const override { return true; }

  void InferShape(int n, int* ndims, int** shapes) const override {
    Tensors inputs = instance_->blank_inputs();
    Tensors outputs = instance_->blank_outputs();
    // MXNet writes the shapes of all inputs first, with the states after the arguments.
    for (size_t i = 0; i < inputs.size(); ++i) ReadShape(*instance_, ndims[i], shapes[i], &inputs[i]);
    instance_->InferShapes(&inputs, &outputs);
    // Static: MXNet reads them before this thread comes here again.
    static thread_local std::vector<std::vector<int>> buffers;
    buffers.resize(std::max<size_t>(buffers.size(), n));
    ForEachInferred(*instance_, &inputs, &outputs, [&](size_t at, const std::string&, pk_tensor* tensor, bool) {
      WriteShape(*instance_, *tensor, &buffers[at], &ndims[at], &shapes[at]);
    });
  }

  void InferType(int /*n*/, int* types) const override {
    Tensors inputs = instance_->blank_inputs();
    Tensors outputs = instance_->blank_outputs();
    ForEachInferred(*instance_, &inputs, &outputs, [&](size_t at, const auto& name, pk_tensor* tensor, bool is_input) {
      if (!is_input) return;
      tensor->dtype = FromMXNetType(types[at]);
      if (types[at] != kUnknownType && tensor->dtype == PK_INVALID_DTYPE) {
        Fail(kCallError, "op '", instance_->label(), "': '", name, "' has MXNet's type ", types[at],
             ", but kernels compute with ", SupportedDtypes());
      }
    });
    instance_->InferDtypes(&inputs, &outputs);
    instance_->RefuseComplex(outputs, "MXNet");
    ForEachInferred(*instance_, &inputs, &outputs, [&](size_t at, const std::string&, pk_tensor* tensor, bool) {
      types[at] = ToMXNetType(tensor->dtype);
    });
  }

  void InferStorageType(int /*n*/, int* storages) const override {
    Tensors inputs = instance_->blank_inputs();
    Tensors outputs = instance_->blank_outputs();
    ForEachInferred(*instance_, &inputs, &outputs, [&](size_t at, const std::string& name, pk_tensor*, bool) {
      if (storages[at] > kStorageDefault) {
        Fail(kCallError, "op '", instance_->label(), "': '", name, "' is a ", StorageName(storages[at]),
             " array, but kernels compute with dense ones; convert it with .tostype('default')");
      }
      storages[at] = kStorageDefault;
    });
  }

  void InferBackwardStorageType(int n, int* storages, int* /*tags*/) const override {
    InferDenseStorage(Join("the gradient of op '", instance_->label(), "'"), n, storages);
  }

  void DeclareBackwardDependency(const int* output_gradients, const int* inputs, const int* outputs, int* n,
                                 int** list) const override {
    static thread_local std::vector<int> needed;
    const Dependencies& dependencies = instance_->dependencies();
    const auto append = [](const int* ids, const std::vector<bool>& wanted) {
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) needed.push_back(ids[i]);
      }
    };
    needed.clear();
    append(output_gradients, dependencies.output_gradients);
    // MXNet always passes the states, and they have no number here.
    append(inputs, {dependencies.inputs.begin(), dependencies.inputs.begin() + CountArguments(*instance_)});
    append(outputs, dependencies.outputs);
    // MXNet takes the device of the backward pass from the arrays that it reads, so request at least one.
    if (needed.empty()) needed.assign(output_gradients, output_gradients + dependencies.output_gradients.size());
    *n = static_cast<int>(needed.size());
    *list = needed.data();
  }

  std::unique_ptr<CustomOperator> CreateOperator(const char* context, int n, unsigned** shapes, const int* ndims,
                                                 const int* types) const override {
    if (std::strncmp(context, "cpu", 3) != 0) {
      Fail(kCallError, "op '", instance_->label(), "' runs on the CPU only, but its arrays are on ", context);
    }
    Tensors inputs = instance_->blank_inputs();
    for (int i = 0; i < n; ++i) {
      inputs[i].dtype = FromMXNetType(types[i]);
      ReadShape(*instance_, ndims[i], shapes[i], &inputs[i]);
      if (!IsKnown(inputs[i])) {
        Fail(kCallError, "op '", instance_->label(), "': the shape of '", instance_->input_names()[i],
             "' is unknown or has a ",
             "dimension of 0, which mean the same to MXNet unless mx.util.set_np_shape(True) is in force");
      }
    }
    auto made = std::make_unique<Operator>(instance_, inputs);
    if (IsRecording() && instance_->op().has_gradient()) made->PrepareBackward();
    return made;
  }

 private:
  template <typename Names>
  const char* const* AddNames(Names begin, Names end) {
    const size_t first = names_.size();
    for (; begin != end; ++begin) names_.push_back(begin->c_str());
    names_.push_back(nullptr);
    return names_.data() + first;
  }

  const std::shared_ptr<const Instance> instance_;
  std::vector<const char*> names_;
};

}  // namespace

void InferDenseStorage(const std::string& gradient, int n, int* storages) {
  for (int i = 0; i < n; ++i) {
    if (storages[i] > kStorageDefault) {
      Fail(kCallError, gradient, " meets a ", StorageName(storages[i]),
           " array, but kernels compute with dense ones; use dense gradients (grad_stype='default')");
    }
    storages[i] = kStorageDefault;
  }
}

int CreateProperty(const char* op_type, int num_kwargs, const char** keys, const char** values, MXCallbackList* ret) {
  return GiveMade(ret, [&] { return std::make_unique<Property>(FindUse(op_type, num_kwargs, keys, values)); });
}

}  // namespace pykernels::mxnet
