// Creates the results of ops for tensors without data.
#include "kernels.h"

namespace pykernels::torch_ops {
namespace {

// Returns whether a tracer follows the size of some tensor as a symbol.
bool HasSymbols(const Layout& layout, const IValue* arguments) {
  bool has_symbols = false;
  layout.ForEachInput(arguments, [&has_symbols](const Tensor& input) {
    has_symbols |= input.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
  });
  return has_symbols;
}

}  // namespace

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

}  // namespace pykernels::torch_ops
