// Implements popart::Op and the tensors of its inputs and outputs.
#include <popart/op.hpp>

extern "C" __attribute__((visibility("default"))) const char POPART_CPU_HEADERS = 0;

namespace popart {

Tensor* TensorIndexMap::tensor(int index) const {
  const auto found = tensors_.find(index);
  if (found == tensors_.end()) throw error("tensor {} does not exist; the number of tensors is {}", index, n());
  return found->second.get();
}

std::map<int, TensorId> TensorIndexMap::tensorIdMap() const {
  std::map<int, TensorId> ids;
  for (const auto& each : tensors_) ids[each.first] = each.second->id;
  return ids;
}

Op::Op(const OperatorIdentifier& opid, const Settings& settings)
    : opid(opid), settings(settings), input(new TensorIndexMap), output(new TensorIndexMap) {}

Op::Op(const Op& other) : Op(other.opid, other.settings) {
  // Copies the tensors, so that changes to one op's do not affect the other's.
  for (const auto& each : other.input->tensorIdMap()) input->insert(each.first, *other.input->tensor(each.first));
  for (const auto& each : other.output->tensorIdMap()) output->insert(each.first, *other.output->tensor(each.first));
}

Op::~Op() = default;

void Op::setup() { throw error("{} has no setup()", opid); }

std::vector<std::unique_ptr<Op>> Op::getGradOps() { return {}; }

const std::vector<GradInOutMapper>& Op::gradInputInfo() const {
  throw error("{} is used as a gradient op and has no gradInputInfo()", opid);
}

const std::map<int, int>& Op::gradOutToNonGradIn() const {
  throw error("{} is used as a gradient op and has no gradOutToNonGradIn()", opid);
}

TensorInfo& Op::outInfo(OutIndex i) {
  if (!output->hasIndex(i)) output->insert(i, Tensor("out/" + std::to_string(i), TensorInfo()));
  return output->tensor(i)->info;
}

std::string Op::str() const {
  std::ostringstream text;
  text << opid;
  return settings.name.empty() ? text.str() : settings.name + " (" + text.str() + ")";
}

}  // namespace popart
