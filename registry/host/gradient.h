// Records the gradient plan that a definition's gradient function builds.
#pragma once

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
  std::vector<std::pair<std::string, int32_t>> outputs;     // argument, number of tensors
  std::vector<std::unique_ptr<const AttributeValue>> attributes;
};

// The ops of a gradient plan, and the blobs that are the gradients of the inputs.
struct PlannedGradient {
  std::vector<PlannedOp> ops;
  std::map<std::pair<std::string, int32_t>, std::string> bindings;  // forward input's argument and index -> its blob
};

// Returns the text of an error for an op whose definition registers no gradient. `label` is the user's name for the op.
std::string DescribeMissingGradient(const Op& op, const std::string& label);

// Runs the gradient function of `op` for one forward instance.
PlannedGradient RecordGradient(const Op& op, const pk_instance& forward);

// Lists the blobs of the forward pass: inputs ("I/x/0"), outputs ("O/y/0"), and gradients of outputs ("D/y/0").
std::vector<std::string> ForwardBlobs(const Tensors& inputs, const Tensors& outputs);

// Which tensors of the forward pass a gradient needs, in order.
struct Dependencies {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
  std::vector<bool> output_gradients;
};

// Divides what is known of the inputs, the outputs and the gradients of the outputs, in this order.
Dependencies Divide(const std::vector<bool>& reads, size_t n_inputs, size_t n_outputs);

// Returns the dependencies of a plan.
Dependencies FindReads(const PlannedGradient& plan, const Tensors& inputs, const Tensors& outputs);

// Returns the dependencies of an op as far as they are known without shapes; otherwise every tensor.
Dependencies FindDependencies(const Op& op, const std::vector<pk_attr>& attributes, const Tensors& inputs,
                              const Tensors& outputs);

}  // namespace pykernels
