#include "backward.h"

#include <algorithm>
#include <cstring>

#include "error.h"
#include "specialization.h"

namespace pykernels {
namespace {

// How many tensors a planned op has of each argument of its definition. `named` says which argument each entry is of,
// and how many tensors it stands for.
std::vector<int32_t> CountByArgument(const pk_argument* arguments, int32_t n,
                                     const std::vector<std::pair<std::string, int32_t>>& named,
                                     const std::string& type, const char* what) {
  std::vector<int32_t> counts(n);
  for (const auto& [name, count] : named) {
    const auto* end = arguments + n;
    const auto* found = std::find_if(arguments, end, [&](const pk_argument& a) { return name == a.name; });
    if (found == end) Fail(kDefinitionError, "among the ", what, " of op type '", type, "' is no '", name, "'");
    counts[found - arguments] += count;
  }
  return DistributeTensors(arguments, n, {counts, -1}, type, what);
}

std::shared_ptr<const Op> FindOp(const std::string& type) {
  try {
    return OpTable::Get().Find(type);
  } catch (const Error& error) {
    Fail(kDefinitionError, "it uses op type '", type, "', which no loaded folder provides: ", error.what());
  }
}

std::vector<std::pair<std::string, int32_t>> OneEach(const std::vector<std::pair<std::string, std::string>>& named) {
  std::vector<std::pair<std::string, int32_t>> counts;
  for (const auto& [argument, blob] : named) counts.emplace_back(argument, 1);
  return counts;
}

}  // namespace

struct BackwardPlan::Buffers {
  explicit Buffers(size_t slots) : data(slots) {}

  std::vector<void*> data;         // by slot; null while there is none
  std::vector<bool> is_delivered;  // by forward input: the result was computed where it belongs
  Scratch scratch;
};

BackwardPlan::BackwardPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs)
    : label_(forward.label()), inputs_(inputs), gradients_(inputs.size(), -1) {
  if (forward.op().is_declared_constant()) return;
  if (!forward.op().has_gradient()) {
    Fail(kDefinitionError, "op '", label_, "' has no gradient: its definition registers none for '",
         forward.op().name(), "'");
  }
  AddForwardSlots(ForwardBlob::kInput, "I/", inputs);
  AddForwardSlots(ForwardBlob::kOutput, "O/", outputs);
  AddForwardSlots(ForwardBlob::kOutputGradient, "D/", outputs);
  try {
    const PlannedGradient plan = RecordGradient(forward.op(), forward.View(inputs, outputs));
    for (const PlannedOp& planned : plan.ops) AddStep(planned);
    Bind(forward, plan);
  } catch (const Error& error) {
    Fail(kDefinitionError, "the gradient of op '", label_, "': ", error.what());
  }
}

void BackwardPlan::AddForwardSlots(ForwardBlob::Kind kind, const char* prefix, const Tensors& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string blob = Join(prefix, tensors[i].argument, "/", tensors[i].index);
    slot_of_blob_[blob] = slots_.size();
    slots_.push_back({blob, tensors[i], kind, i});
  }
}

size_t BackwardPlan::FindSlot(const std::string& blob, const std::string& user) const {
  const auto found = slot_of_blob_.find(blob);
  if (found == slot_of_blob_.end()) {
    Fail(kDefinitionError, user, " uses '", blob,
         "', which is no tensor of the forward pass and no output of an earlier op");
  }
  return found->second;
}

void BackwardPlan::AddStep(const PlannedOp& planned) {
  const std::shared_ptr<const Op> op = FindOp(planned.type);
  const pk_op& declared = op->declared();
  std::vector<pk_attr> attributes;
  for (const auto& value : planned.attributes) attributes.push_back(value->get());
  Step step;
  step.instance = std::make_shared<const Instance>(
      op, planned.type, Attributes::Fill(declared, planned.type, attributes),
      CountByArgument(declared.inputs, declared.n_inputs, OneEach(planned.inputs), planned.type, "inputs"),
      CountByArgument(declared.outputs, declared.n_outputs, planned.outputs, planned.type, "outputs"));
  Tensors inputs = step.instance->blank_inputs();
  step.inputs.resize(inputs.size());
  std::map<std::string, int32_t> seen;
  for (const auto& [argument, blob] : planned.inputs) {
    const size_t slot = FindSlot(blob, Join("op type '", planned.type, "'"));
    const int at = FindTensor(inputs, argument, seen[argument]++);
    step.inputs[at] = slot;
    inputs[at].dtype = slots_[slot].type.dtype;
    CopyShape(slots_[slot].type, &inputs[at]);
  }
  step.specialization = step.instance->Specialize(inputs);
  for (const pk_tensor& output : step.specialization->outputs()) {
    const std::string blob = Join(planned.name, "/", output.argument, "_", output.index);
    if (!slot_of_blob_.emplace(blob, slots_.size()).second) {
      Fail(kDefinitionError, "two of its ops are called '", planned.name, "'");
    }
    step.outputs.push_back(slots_.size());
    slots_.push_back({blob, output, ForwardBlob::kNone, 0});
  }
  steps_.push_back(std::move(step));
}

void BackwardPlan::Bind(const Instance& forward, const PlannedGradient& plan) {
  for (const auto& [input, blob] : plan.bindings) {
    const auto& [argument, index] = input;
    const int at = FindTensor(inputs_, argument, index);
    if (at < 0) {
      Fail(kDefinitionError, "it binds the gradient of '", argument, "' ", index, ", which is no input of the op");
    }
    const size_t slot = FindSlot(blob, Join("the gradient of '", argument, "'"));
    const pk_tensor& type = slots_[slot].type;
    if (type.dtype != inputs_[at].dtype || !SameShape(type, inputs_[at])) {
      Fail(kDefinitionError, "the gradient of '", forward.input_names()[at], "' is ", Describe(type),
           ", but the input is ", Describe(inputs_[at]));
    }
    gradients_[at] = static_cast<int>(slot);
  }
}

void BackwardPlan::Resolve() const {
  for (const Step& step : steps_) step.specialization->Kernel();
}

std::vector<bool> BackwardPlan::FindNeededSteps(const std::vector<Target>& targets) const {
  std::vector<bool> is_needed_slot(slots_.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].request != Request::kNull && gradients_[i] >= 0) is_needed_slot[gradients_[i]] = true;
  }
  std::vector<bool> needed(steps_.size());
  for (size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    needed[i] = std::any_of(step.outputs.begin(), step.outputs.end(), [&](size_t s) { return is_needed_slot[s]; });
    if (!needed[i]) continue;
    for (size_t slot : step.inputs) is_needed_slot[slot] = true;
  }
  return needed;
}

const void* BackwardPlan::ForwardData(const Slot& slot, const ForwardBuffers& given) const {
  switch (slot.kind) {
    case ForwardBlob::kInput: return given.inputs[slot.position];
    case ForwardBlob::kOutput: return given.outputs[slot.position];
    case ForwardBlob::kOutputGradient: return given.output_gradients[slot.position];
    default: return nullptr;
  }
}

void* BackwardPlan::PlaceOutput(size_t slot, const std::vector<Target>& targets, Buffers* buffers) const {
  const size_t bytes = CountBytes(slots_[slot].type);
  for (size_t i = 0; i < targets.size(); ++i) {
    if (gradients_[i] != static_cast<int>(slot) || targets[i].request != Request::kWrite) continue;
    bool is_free = true;
    for (size_t s = 0; s < slots_.size(); ++s) {
      is_free = is_free && !(buffers->data[s] && Overlap(targets[i].data, bytes, buffers->data[s],
                                                        CountBytes(slots_[s].type)));
    }
    if (!is_free) continue;
    buffers->is_delivered[i] = true;
    return targets[i].data;
  }
  return buffers->scratch.Allocate(bytes);
}

void* BackwardPlan::Read(size_t slot, const Buffers& buffers) const {
  void* data = buffers.data[slot];
  if (!data) {
    Fail(kDefinitionError, "the gradient of op '", label_, "' needs '", slots_[slot].blob, "', which was not kept");
  }
  return data;
}

void BackwardPlan::RunStep(const Step& step, const std::vector<Target>& targets, bool is_train,
                           Buffers* buffers) const {
  std::vector<void*> data;
  for (size_t slot : step.inputs) data.push_back(Read(slot, *buffers));
  for (size_t slot : step.outputs) {
    buffers->data[slot] = PlaceOutput(slot, targets, buffers);
    data.push_back(buffers->data[slot]);
  }
  step.specialization->Run(data, is_train);
}

void BackwardPlan::Run(const ForwardBuffers& given, const std::vector<Target>& targets, bool is_train) const {
  Buffers buffers(slots_.size());
  buffers.is_delivered.resize(targets.size());
  for (size_t s = 0; s < slots_.size(); ++s) buffers.data[s] = const_cast<void*>(ForwardData(slots_[s], given));
  const std::vector<bool> needed = FindNeededSteps(targets);
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (needed[i]) RunStep(steps_[i], targets, is_train, &buffers);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i].request == Request::kNull || buffers.is_delivered[i]) continue;
    if (gradients_[i] >= 0) {
      Deliver(inputs_[i], Read(gradients_[i], buffers), targets[i]);
    } else if (targets[i].request == Request::kWrite) {
      std::memset(targets[i].data, 0, CountBytes(inputs_[i]));
    }
  }
}

}  // namespace pykernels
