#include "layout.h"

#include <cstring>

namespace pykernels::torch_ops {
namespace {

// OneFlow's attribute that chooses among kernels of one device. PyTorch has no such choice.
constexpr char kSubTag[] = "device_sub_tag";

int32_t Count(const IValue& value) {
  if (value.isNone()) return 0;
  return value.isTensor() ? 1 : static_cast<int32_t>(value.toListRef().size());
}

}  // namespace

Layout::Layout(const pk_op& op, bool takes_is_train) : op_(op), takes_is_train_(takes_is_train) {
  for (int32_t i = 0; i < op.n_attributes; ++i) {
    if (std::strcmp(op.attributes[i].initial.name, kSubTag) != 0) attributes_.push_back(i);
  }
  for (int32_t i = 0; i < op.n_outputs; ++i) {
    if (IsCounted(op.outputs[i])) counted_.push_back(i);
  }
  n_arguments_ = op.n_inputs + attributes_.size() + counted_.size() + takes_is_train;
}

Tensors Layout::Inputs(const IValue* arguments) const {
  Tensors tensors;
  ForEachInput(arguments, [&tensors](const Tensor& input) { tensors.push_back(input); });
  return tensors;
}

void Layout::CountInputs(const IValue* arguments, std::vector<int32_t>* counts) const {
  counts->clear();
  for (int32_t i = 0; i < op_.n_inputs; ++i) counts->push_back(Count(arguments[i]));
}

void Layout::CountOutputs(const IValue* arguments, std::vector<int32_t>* counts) const {
  counts->clear();
  for (int32_t i = 0; i < op_.n_outputs; ++i) counts->push_back(op_.outputs[i].count);
  const IValue* given = arguments + op_.n_inputs + attributes_.size();
  for (int32_t output : counted_) (*counts)[output] = static_cast<int32_t>((given++)->toInt());
}

bool Layout::IsTrain(const IValue* arguments) const {
  return takes_is_train_ && arguments[n_arguments_ - 1].toBool();
}

Tensors Layout::Outputs(const IValue* results) const {
  Tensors tensors;
  for (int32_t i = 0; i < op_.n_outputs; ++i) {
    if (results[i].isTensor()) {
      tensors.push_back(results[i].toTensor());
    } else {
      for (const IValue& each : results[i].toListRef()) tensors.push_back(each.toTensor());
    }
  }
  return tensors;
}

void Layout::PushOutputs(const std::vector<int32_t>& counts, Tensors outputs, Stack* stack) const {
  size_t at = 0;
  for (int32_t i = 0; i < op_.n_outputs; ++i) {
    if (!IsListed(op_.outputs[i]) && !IsCounted(op_.outputs[i])) {
      stack->emplace_back(std::move(outputs[at++]));
      continue;
    }
    c10::List<Tensor> list;
    for (int32_t k = 0; k < counts[i]; ++k) list.push_back(std::move(outputs[at++]));
    stack->emplace_back(std::move(list));
  }
}

}  // namespace pykernels::torch_ops
