#include "instance.h"

#include <popart/popx/opxmanager.hpp>

#include <mutex>

#include "dtype.h"
#include "registry.h"
#include "view.h"

namespace popart_cpu {
namespace {

std::mutex the_mutex;
// Never deleted: nodes may be created from them for the life of the process.
auto& the_kept = *new std::map<int64_t, Kept>;

// Checks an output's type and shape. A device may represent 64-bit integers with 32 bits.
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

Kept& FindKept(int64_t number) {
  std::lock_guard<std::mutex> lock(the_mutex);
  const auto found = the_kept.find(number);
  if (found == the_kept.end()) throw popart::error("this process has no op {}", number);
  return found->second;
}

int64_t Keep(std::unique_ptr<popart::Op> op, std::string library) {
  std::shared_ptr<popart::Op> own = Clone(*op);
  std::lock_guard<std::mutex> lock(the_mutex);
  const auto number = static_cast<int64_t>(the_kept.size()) + 1;
  the_kept[number] = {{std::move(op), std::move(library)}, std::move(own), {}, {}};
  return number;
}

std::unique_ptr<popart::Op> Clone(const popart::Op& op) {
  std::unique_ptr<popart::Op> clone = op.clone();
  if (!clone) throw popart::error("clone() returns no op");
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
    if (!op->output->hasIndex(i)) throw popart::error("setup() does not set output {}", i);
    const popart::TensorInfo& info = op->outInfo(i);
    if (!info.isSet()) throw popart::error("setup() does not set output {}", i);
    for (int64_t size : info.shape()) {
      if (size < 0) throw popart::error("setup() gives output {} a negative size: {}", i, info);
    }
    outputs.push_back(info);
  }
  if (outputs.empty()) throw popart::error("setup() sets no output");
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
  if (!opx) throw popart::error("its popart::popx::OpxCreator returns no Opx");
  poplar::program::Sequence program;
  opx->grow(program);
  std::vector<std::pair<poplar::Tensor, poplar::Type>> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto found = device.outputs.find(static_cast<int>(i));
    if (found == device.outputs.end()) throw popart::error("grow() does not set output {} with setOutTensor()", i);
    const popart::TensorInfo& info = outputs[i];
    CheckOutput(static_cast<int>(i), found->second, info);
    tensors.emplace_back(found->second, DeviceType(info.dataType()));
  }
  return std::unique_ptr<const Prepared>(new Prepared{std::move(outputs), Plan(program, tensors)});
}

}  // namespace popart_cpu
