// What a definition's gradient function asks for, written down.
#ifndef PYKERNELS_REGISTRY_HOST_GRADIENT_H_
#define PYKERNELS_REGISTRY_HOST_GRADIENT_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attributes.h"
#include "op.h"
#include "tensors.h"

namespace pykernels {

// An op of a gradient plan.
struct PlannedOp {
  std::string name;
  std::string type;
  std::vector<std::pair<std::string, std::string>> inputs;  // argument, blob
  std::vector<std::pair<std::string, int32_t>> outputs;     // argument, how many
  std::vector<std::unique_ptr<const AttributeValue>> attributes;
};

struct PlannedGradient {
  std::vector<PlannedOp> ops;
  std::map<std::pair<std::string, int32_t>, std::string> bindings;  // argument and index of a forward input to its blob
};

// Runs the gradient function of `op` for one forward instance.
PlannedGradient RecordGradient(const Op& op, const pk_instance& forward);

// A tensor of the forward pass that a blob name stands for: "I/x/0", "O/y/0", "D/y/0".
struct ForwardBlob {
  enum Kind { kNone, kInput, kOutput, kOutputGradient };
  Kind kind = kNone;
  std::string argument;
  int32_t index = 0;
};

// kNone for the name of anything else.
ForwardBlob ParseForwardBlob(const std::string& blob);

// Which tensors of the forward pass a gradient needs, in their order.
struct Dependencies {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
  std::vector<bool> output_gradients;
};

// The dependencies of an op with these tensors, as far as they are known before shapes are; otherwise everything.
Dependencies FindDependencies(const Op& op, const std::vector<pk_attr>& attributes, const Tensors& inputs,
                              const Tensors& outputs);

}  // namespace pykernels

#endif  // PYKERNELS_REGISTRY_HOST_GRADIENT_H_
