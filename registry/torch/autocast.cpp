// Runs ops in float32 under autocast.
#include "kernels.h"

namespace pykernels::torch_ops {
namespace {

IValue InFloat32(const IValue& value) {
  if (value.isTensor()) return at::autocast::cached_cast(at::kFloat, value.toTensor(), c10::DeviceType::CPU);
  if (!value.isList()) return value;
  c10::List<Tensor> tensors;
  for (const IValue& each : value.toListRef()) {
    tensors.push_back(at::autocast::cached_cast(at::kFloat, each.toTensor(), c10::DeviceType::CPU));
  }
  return tensors;
}

}  // namespace

void RunAutocast(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet /*keys*/, Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const Layout& layout = op.loaded().layout();
  IValue* arguments = stack->data() + stack->size() - layout.n_arguments();
  for (int32_t i = 0; i < layout.op().n_inputs; ++i) {
    // Changes to a copy would be lost.
    if (!layout.op().inputs[i].is_mutable) arguments[i] = InFloat32(arguments[i]);
  }
  handle.callBoxed(stack);
}

}  // namespace pykernels::torch_ops
