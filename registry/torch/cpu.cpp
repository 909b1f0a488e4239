// Runs ops on PyTorch's CPU tensors.
#include "../host/dtype.h"
#include "../host/specialization.h"
#include "kernels.h"

namespace pykernels::torch_ops {
namespace {

// The address used for tensors without elements, which have no buffer.
alignas(64) char the_nothing[64];

bool IsAsKernelsWantIt(const Tensor& tensor) {
  return tensor.is_contiguous() && reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % tensor.element_size() == 0;
}

void* Data(const Tensor& tensor) { return tensor.numel() ? const_cast<void*>(tensor.const_data_ptr()) : the_nothing; }

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

}  // namespace pykernels::torch_ops
