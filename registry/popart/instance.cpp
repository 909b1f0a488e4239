#include "instance.h"

#include <popart/popx/opxmanager.hpp>

#include "devicex.h"
#include "dtype.h"
#include "registry.h"
#include "view.h"

namespace popart_cpu {
namespace {

// Integers of 64 bits have 32 on a device, so those are right as well.
void CheckOutput(int i, const poplar::Tensor& tensor, const popart::TensorInfo& info) {
  const poplar::Type type = tensor.elementType(), wanted = DeviceType(info.dataType());
  const bool is_narrow = (wanted == poplar::LONGLONG && type == poplar::INT) ||
                         (wanted == poplar::UNSIGNED_LONGLONG && type == poplar::UNSIGNED_INT) ||
                         (wanted == poplar::SIGNED_CHAR && type == poplar::CHAR);
  if ((type != wanted && !is_narrow) || tensor.shape() != info.shape_szt()) {
    throw popart::error("setup() says that output {} is {}, but grow() makes it {}", i, info, tensor);
  }
}

}  // namespace

std::unique_ptr<popart::Op> Clone(const popart::Op& op) {
  std::unique_ptr<popart::Op> clone = op.clone();
  if (!clone) throw popart::error("clone() gives no op");
  return clone;
}

Infos Setup(popart::Op* op, const Infos& inputs) {
  op->input->clear();
  op->output->clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isSet()) continue;
    op->input->insert(static_cast<int>(i), popart::Tensor("in/" + std::to_string(i), inputs[i]));
  }
  op->setup();
  Infos outputs;
  for (int i = 0; i < op->output->n(); ++i) {
    if (!op->output->hasIndex(i)) throw popart::error("setup() does not say what output {} is", i);
    const popart::TensorInfo& info = op->outInfo(i);
    if (!info.isSet()) throw popart::error("setup() does not say what output {} is", i);
    for (int64_t size : info.shape()) {
      if (size < 0) throw popart::error("setup() gives output {} the shape of {}", i, info);
    }
    outputs.push_back(info);
  }
  if (outputs.empty()) throw popart::error("setup() says of no output what it is");
  return outputs;
}

std::unique_ptr<const Prepared> Prepare(const Instance& instance, const Infos& inputs) {
  const std::unique_ptr<popart::Op> op = Clone(*instance.op);
  Infos outputs = Setup(op.get(), inputs);
  popart::popx::Devicex device;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isSet()) continue;
    auto variable = std::make_shared<Variable>();
    variable->type = DeviceType(inputs[i].dataType());
    variable->n_elements = static_cast<std::size_t>(inputs[i].nelms());
    variable->input = static_cast<int>(i);
    device.inputs[static_cast<int>(i)] = TensorOf(std::move(variable), inputs[i].shape_szt());
  }
  const auto make = FindOpx(op->opid, instance.library);
  const std::unique_ptr<popart::popx::Opx> opx = make(op.get(), &device);
  if (!opx) throw popart::error("its popart::popx::OpxCreator makes no Opx");
  poplar::program::Sequence program;
  opx->grow(program);
  std::vector<std::pair<poplar::Tensor, poplar::Type>> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = device.outputs.find(static_cast<int>(i));
    if (found == device.outputs.end()) throw popart::error("grow() does not set output {}: setOutTensor()", i);
    const popart::TensorInfo& info = outputs[i];
    CheckOutput(static_cast<int>(i), found->second, info);
    tensors.emplace_back(found->second, DeviceType(info.dataType()));
  }
  return std::unique_ptr<const Prepared>(new Prepared{std::move(outputs), Plan(program, tensors)});
}

}  // namespace popart_cpu
