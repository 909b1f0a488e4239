// Gradients of gradients. With create_graph=True, MXNet records the gradient of an op as a node of `_backward_Custom`,
// whose own gradient it does not know. This provides it, again as a node of `_backward_Custom`, and so for all orders.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../host/backward.h"
#include "layout.h"
#include "operator.h"

namespace pykernels::mxnet {

// What the gradient of a recorded gradient needs; MXNet keeps it as the state of the recorded node.
struct RecordedGradient final : CustomParam {
  OpState state;
  OpStatePtr own;            // the state that the recorded node has run with, which owns the plan
  const BackwardPlan* plan;  // what the recorded node runs; null if that has failed
  std::string failure;
  std::vector<size_t> inputs;   // for every input of the recorded node, its number among the tensors of the plan
  std::vector<size_t> outputs;  // for every output, of which input of the forward pass it is the gradient
  std::vector<int> needed;      // what its gradient reads, by the numbers of DeclareBackwardDependency

  // Runs the gradient: `arrays` are those of `needed`, and the results are the gradients of the node's inputs.
  void Run(const std::vector<Array>& arrays, const std::vector<Array>& results, const int* requests,
           bool is_train) const;
};

// Returns null for the state of any other node.
const RecordedGradient* AsRecorded(const CustomParam& param);

// Serves as the FGradient of `_backward_Custom`. MXNet also calls it when it records a node, for what to keep. Returns
// nothing if the node runs another's operator.
std::optional<std::vector<NodeEntry>> DifferentiateGradient(const NodePtr& node,
                                                            const std::vector<NodeEntry>& output_gradients);

// Does what MXNet does if there is no FGradient: others' operators have no second derivative.
std::vector<NodeEntry> DifferentiateOthers(const NodePtr& node, const std::vector<NodeEntry>& output_gradients);

// The operator whose property MXNet asks about nodes that run the gradient of a recorded node, and what creates it.
std::string GradientOpName();
int CreateGradientProperty(const char* op_type, int num_kwargs, const char** keys, const char** values,
                           MXCallbackList* ret);

}  // namespace pykernels::mxnet
