// Runs ops on PyTorch's tensors: on the CPU, without data, and with inputs of one dtype under autocast.
#include "kernels.h"

#include "../host/specialization.h"
#include "values.h"

namespace pykernels::torch_ops {
namespace {

// Creates a tensor of each type; `make` takes sizes and a dtype.
template <typename Make>
Tensors MakeOutputs(const pykernels::Tensors& types, const Make& make) {
  Tensors outputs;
  for (const pk_tensor& type : types) {
    outputs.push_back(make(at::IntArrayRef(type.dims, static_cast<size_t>(type.ndim)), ToScalarType(type.dtype)));
  }
  return outputs;
}

bool IsAsKernelsWantIt(const Tensor& tensor) {
  return tensor.is_contiguous() && reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % tensor.element_size() == 0;
}

void* Data(const Tensor& tensor) { return tensor.numel() ? const_cast<void*>(tensor.const_data_ptr()) : nowhere; }

// Throws unless each changed tensor has memory of its own: no overlap with another tensor or within itself.
void RequireSeparateStates(const Instance& instance, const Tensors& inputs) {
  for (size_t i = inputs.size() - instance.n_states(); i < inputs.size(); ++i) {
    const std::string& name = instance.input_names()[i];
    if (at::has_internal_overlap(inputs[i]) == at::MemOverlap::Yes) {
      Fail(kCallError, "op '", instance.label(), "': it changes its input '", name,
           "', whose elements share memory; clone() it");
    }
    for (size_t other = 0; other < i; ++other) {
      if (inputs[i].numel() && inputs[i].is_alias_of(inputs[other]) &&
          at::get_overlap_status(inputs[i], inputs[other]) != at::MemOverlapStatus::No) {
        Fail(kCallError, "op '", instance.label(), "': it changes its input '", name,
             "', which shares memory with its input '", instance.input_names()[other], "'; clone() one of them");
      }
    }
  }
}

// Returns whether a tracer follows the size of some tensor as a symbol.
bool HasSymbols(const Layout& layout, const IValue* arguments) {
  bool has_symbols = false;
  layout.ForEachInput(arguments, [&has_symbols](const Tensor& input) {
    has_symbols |= input.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  });
  return has_symbols;
}

// Returns whether the floating-point inputs have different dtypes.
bool IsMixed(const Layout& layout, const IValue* arguments) {
  std::optional<at::ScalarType> first;
  bool is_mixed = false;
  layout.ForEachInput(arguments, [&](const Tensor& input) {
    if (!input.is_floating_point()) return;
    if (!first) first = input.scalar_type();
    is_mixed |= *first != input.scalar_type();
  });
  return is_mixed;
}

IValue InFloat32(const IValue& value) {
  return MapTensors(value, [](const Tensor& tensor) {
    return at::autocast::cached_cast(at::kFloat, tensor, tensor.device().type());
  });
}

}  // namespace

void RunOnCpu(const TorchOp& op, const c10::OperatorHandle& /*handle*/, c10::DispatchKeySet /*keys*/, Stack* stack) {
  const Loaded& loaded = op.loaded();
  const Layout& layout = loaded.layout();
  const IValue* arguments = stack->data() + stack->size() - layout.n_arguments();
  const std::shared_ptr<const Use> use = loaded.FindUse(arguments);
  const Instance& instance = use->instance();
  const Tensors inputs = layout.Inputs(arguments);
  const std::shared_ptr<const Specialization> specialization = use->Specialize(inputs);
  if (instance.n_states()) RequireSeparateStates(instance, inputs);
  specialization->Kernel();  // reports errors in the kernel or the outputs before they are allocated
  Tensors outputs = MakeOutputs(specialization->outputs(), [](at::IntArrayRef sizes, at::ScalarType dtype) {
    return at::detail::empty_cpu(sizes, dtype);
  });
  // Contiguous copies of inputs that kernels cannot take as they are, by position.
  c10::SmallVector<std::pair<size_t, Tensor>, 4> copies;
  std::vector<void*> data;
  data.reserve(inputs.size() + outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (IsAsKernelsWantIt(inputs[i])) {
      data.push_back(Data(inputs[i]));
    } else {
      copies.emplace_back(i, inputs[i].clone(at::MemoryFormat::Contiguous));
      data.push_back(Data(copies.back().second));
    }
  }
  for (const Tensor& output : outputs) data.push_back(Data(output));
  specialization->Run(data, layout.IsTrain(arguments));
  for (const auto& [position, copy] : copies) {
    if (position >= inputs.size() - instance.n_states()) inputs[position].copy_(copy);
  }
  torch::jit::drop(*stack, layout.n_arguments());
  layout.PushOutputs(use->output_counts(), std::move(outputs), stack);
}

void RunOnMeta(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, Stack* stack) {
  const Loaded& loaded = op.loaded();
  const Layout& layout = loaded.layout();
  const IValue* arguments = stack->data() + stack->size() - layout.n_arguments();
  if (HasSymbols(layout, arguments)) {
    // Definitions compute with numbers. Python, which holds the symbols, works out how results depend on them.
    const std::string symbolic = kSymbolicPrefix + handle.operator_name().name;
    const c10::OperatorHandle found = c10::Dispatcher::singleton().findSchemaOrThrow(symbolic.c_str(), "");
    return found.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack);
  }
  const std::shared_ptr<const Use> use = loaded.FindUse(arguments);
  const std::shared_ptr<const Specialization> specialization = use->Specialize(layout.Inputs(arguments));
  Tensors outputs = MakeOutputs(specialization->outputs(), [](at::IntArrayRef sizes, at::ScalarType dtype) {
    return at::detail::empty_meta(sizes, dtype);
  });
  torch::jit::drop(*stack, layout.n_arguments());
  layout.PushOutputs(use->output_counts(), std::move(outputs), stack);
}

void RunAutocast(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const Layout& layout = op.loaded().layout();
  IValue* arguments = stack->data() + stack->size() - layout.n_arguments();
  const bool is_mixed = IsMixed(layout, arguments);
  for (int32_t i = 0; i < layout.op().n_inputs && is_mixed; ++i) {
    // Changes to a copy would be lost.
    if (!layout.op().inputs[i].is_mutable) arguments[i] = InFloat32(arguments[i]);
  }
  handle.callBoxed(stack);
}

}  // namespace pykernels::torch_ops
