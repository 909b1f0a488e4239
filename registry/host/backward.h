// A gradient plan for tensors of certain dtypes and shapes: ops in order, and where every tensor comes from.
#ifndef PYKERNELS_REGISTRY_HOST_BACKWARD_H_
#define PYKERNELS_REGISTRY_HOST_BACKWARD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "execute.h"
#include "gradient.h"
#include "instance.h"

namespace pykernels {

class BackwardPlan {
 public:
  BackwardPlan(const Instance& forward, const Tensors& inputs, const Tensors& outputs);

  // Resolves the kernels of all its ops, so that what can go wrong with that goes wrong now.
  void Resolve() const;

  void Run(const ForwardBuffers& buffers, const std::vector<Target>& input_gradients, bool is_train) const;

 private:
  // A tensor of the plan: one of the forward pass, or an output of a step.
  struct Slot {
    std::string blob;
    pk_tensor type;
    ForwardBlob::Kind kind;
    size_t position;  // among those of its kind in the forward pass
  };

  struct Step {
    std::shared_ptr<const Instance> instance;
    std::shared_ptr<const Specialization> specialization;
    std::vector<size_t> inputs;  // slots
    std::vector<size_t> outputs;
  };

  // The buffers of one run.
  struct Buffers;

  void AddForwardSlots(ForwardBlob::Kind kind, const char* prefix, const Tensors& tensors);
  void AddStep(const PlannedOp& planned);
  void Bind(const Instance& forward, const PlannedGradient& plan);
  size_t FindSlot(const std::string& blob, const std::string& user) const;
  std::vector<bool> FindNeededSteps(const std::vector<Target>& targets) const;
  void* PlaceOutput(size_t slot, const std::vector<Target>& targets, Buffers* buffers) const;
  const void* ForwardData(const Slot& slot, const ForwardBuffers& given) const;
  // The buffer of a slot that is about to be read.
  void* Read(size_t slot, const Buffers& buffers) const;
  void RunStep(const Step& step, const std::vector<Target>& targets, bool is_train, Buffers* buffers) const;

  std::string label_;
  Tensors inputs_;  // of the forward pass
  std::vector<Slot> slots_;
  std::map<std::string, size_t> slot_of_blob_;
  std::vector<Step> steps_;
  std::vector<int> gradients_;  // for every forward input its slot, or -1 for a gradient of zero
};

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_BACKWARD_H_
