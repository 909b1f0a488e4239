// Implements popart::popx::Opx on the device of one op.
#include <popart/popx/opx.hpp>

#include "instance.h"
#include "view.h"

namespace popart {
namespace popx {
namespace {

const poplar::Tensor& At(const std::map<int, poplar::Tensor>& tensors, int i, const char* problem) {
  const auto found = tensors.find(i);
  if (found == tensors.end()) throw error(problem, i);
  return found->second;
}

}  // namespace

void Opx::grow(poplar::program::Sequence&) const { throw error("the Opx of {} has no grow()", op_p->opid); }

poplar::Graph& Opx::graph() const { return dv_p->graph; }

const poplar::Tensor& Opx::getInTensor(InIndex i) const { return At(dv_p->inputs, i, "input {} does not exist"); }

const poplar::Tensor& Opx::getOutTensor(OutIndex i) const { return At(dv_p->outputs, i, "output {} has not been set"); }

const poplar::Tensor& Opx::get(const TensorId& id) const {
  for (const auto& each : op_p->input->tensorIdMap()) {
    if (each.second == id) return getInTensor(each.first);
  }
  for (const auto& each : op_p->output->tensorIdMap()) {
    if (each.second == id) return getOutTensor(each.first);
  }
  throw error("{} has no tensor '{}'", op_p->opid, id);
}

void Opx::setOutTensor(OutIndex i, const poplar::Tensor& tensor) const {
  if (!op_p->hasOutput(i)) throw error("setOutTensor(): {} has no output {}", op_p->opid, i);
  if (!tensor.valid()) throw error("setOutTensor(): output {} is not a tensor", i);
  dv_p->outputs[i] = tensor;
}

void Opx::insert(const TensorId& id, const poplar::Tensor& tensor) const {
  for (const auto& each : op_p->output->tensorIdMap()) {
    if (each.second == id) return setOutTensor(each.first, tensor);
  }
  throw error("insert(): {} has no output '{}'", op_p->opid, id);
}

poplar::Tensor Opx::cloneNcopy(poplar::program::Sequence& prog, const poplar::Tensor& tensor,
                               const std::string& name) const {
  const poplar::Tensor made = graph().clone(tensor, debugContext(name));
  prog.add(poplar::program::Copy(tensor, made));
  return made;
}

poplar::Tensor Opx::broadcast(const std::vector<int64_t>& shape, poplar::Tensor tensor) const {
  return popart_cpu::BroadcastTo(tensor, std::vector<std::size_t>(shape.begin(), shape.end()));
}

}  // namespace popx
}  // namespace popart
