#include "forward_mode.h"

#include <ATen/ops/zeros_like.h>

namespace pykernels::torch_ops {
namespace {

constexpr char kPrefix = 't';

// Returns the position of an argument, or -1.
int32_t Find(const pk_argument* arguments, int32_t n, const std::string& name) {
  for (int32_t i = 0; i < n; ++i) {
    if (name == arguments[i].name) return i;
  }
  return -1;
}

Tensor Primal(const Tensor& tensor) { return tensor._fw_primal(0); }

Tensor Tangent(const Tensor& tensor) {
  return HasTangent(tensor) ? Tensor(tensor._fw_grad(0)) : at::zeros_like(Primal(tensor));
}

void SetTangent(const Tensor& tensor, const Tensor& tangent, const char* op) {
  if (tensor.sym_sizes() != tangent.sym_sizes() || tensor.scalar_type() != tangent.scalar_type()) {
    Fail(kDefinitionError, "op '", op, "' returns a tangent of ", tangent.scalar_type(), tangent.sym_sizes(),
         " for an output of ", tensor.scalar_type(), tensor.sym_sizes());
  }
  tensor._set_fw_grad(tangent, /*level=*/0, /*is_inplace_op=*/false);
}

}  // namespace

TangentCall::TangentCall(const TorchOp& op, const IValue* arguments)
    : op_(op),
      layout_(op.loaded().layout()),
      arguments_(arguments, arguments + layout_.n_arguments()),
      declared_(op.loaded().op().FindTangent()) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      declared_,
      WithCode(kDefinitionError,
               Join("op '", op.qualified_name(), "' has no forward-mode derivative (jvp): its definition has no "
                    "Tangent, which `python -m pykernels derive --forward-mode` writes. Gradients, as of backward(), "
                    "vjp and grad, need none")));
}

void TangentCall::Run(const IValue* results) const {
  const TorchOp& tangent = TorchOp::Find(declared_->name);
  const Layout& layout = tangent.loaded().layout();
  Stack stack;
  for (int32_t i = 0; i < declared_->n_inputs; ++i) stack.push_back(Operand(declared_->inputs[i].name, results));
  for (int32_t position : layout.attributes()) {
    stack.push_back(Attribute(declared_->attributes[position].initial.name));
  }
  std::vector<int32_t> of;  // whose tangent each result is, among the outputs of the op
  const pk_op& op = layout_.op();
  for (int32_t i = 0; i < declared_->n_outputs; ++i) {
    const std::string name = declared_->outputs[i].name;
    of.push_back(name[0] == kPrefix ? Find(op.outputs, op.n_outputs, name.substr(1)) : -1);
    if (of.back() < 0) FailBecause("returns '" + name + "', which is no tangent of an output");
    const IValue& result = results[of.back()];
    if (Layout::IsCounted(declared_->outputs[i])) stack.emplace_back(static_cast<int64_t>(result.toListRef().size()));
  }
  if (stack.size() < layout.n_arguments()) stack.emplace_back(layout_.IsTrain(arguments_.data()));
  tangent.Call(&stack);
  const IValue* found = stack.data() + stack.size() - layout.n_results();
  for (size_t i = 0; i < of.size(); ++i) {
    const IValue& result = results[of[i]];
    if (result.isTensor()) {
      SetTangent(result.toTensor(), found[i].toTensor(), declared_->name);
    } else {
      for (size_t k = 0; k < result.toListRef().size(); ++k) {
        SetTangent(result.toListRef()[k].toTensor(), found[i].toListRef()[k].toTensor(), declared_->name);
      }
    }
  }
}

IValue TangentCall::Operand(const std::string& name, const IValue* results) const {
  const pk_op& op = layout_.op();
  const int32_t input = Find(op.inputs, op.n_inputs, name);
  if (input >= 0) return MapTensors(arguments_[input], Primal);
  const int32_t output = Find(op.outputs, op.n_outputs, name);
  if (output >= 0) return results[output];
  const int32_t moved = name[0] == kPrefix ? Find(op.inputs, op.n_inputs, name.substr(1)) : -1;
  if (moved < 0) FailBecause("takes '" + name + "', which is no input, output or tangent of an input");
  return MapTensors(arguments_[moved], Tangent);
}

const IValue& TangentCall::Attribute(const char* name) const {
  const std::vector<int32_t>& known = layout_.attributes();
  for (size_t i = 0; i < known.size(); ++i) {
    if (std::string(layout_.op().attributes[known[i]].initial.name) == name) {
      return arguments_[layout_.op().n_inputs + i];
    }
  }
  FailBecause(std::string("has the attribute '") + name + "', which is none");
}

void TangentCall::FailBecause(const std::string& problem) const {
  Fail(kDefinitionError, declared_->file, ":", declared_->line, ": op ", declared_->name, " ", problem, " of ",
       layout_.op().name);
}

}  // namespace pykernels::torch_ops
