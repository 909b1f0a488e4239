// Ops as they are created, and prepared for inputs of given types.
#pragma once

#include <onnxruntime/node_attributes.h>
#include <popart/op.hpp>
#include <poplar/Graph.hpp>
#include <popart/popx/devicex.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan.h"

// The device of one op, with the tensors of its inputs and outputs.
class popart::popx::Devicex {
 public:
  poplar::Graph graph;
  std::map<int, poplar::Tensor> inputs;
  std::map<int, poplar::Tensor> outputs;
};

namespace popart_cpu {

// Where an op's attributes are read.
struct AttributeSource {
  std::optional<pykernels::onnxruntime::NodeAttributes> node;  // set while the node is created
};

// Runs `body` and returns the text of what it throws.
template <typename Body>
std::optional<std::string> ProblemOf(const Body& body) {
  try {
    body();
    return std::nullopt;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception was thrown that is not a std::exception";
  }
}

// The types of an op's inputs; the type of an omitted input is not set.
using Infos = std::vector<popart::TensorInfo>;

// An op as created, and the library whose Opx computes it.
struct Instance {
  std::shared_ptr<const popart::Op> op;
  std::string library;
};

// An op that Python identifies by number, and its copy for inference.
struct Kept {
  Instance instance;
  std::shared_ptr<popart::Op> op;  // with its latest inputs and outputs
  Infos inputs;
  Infos outputs;
};

// Throws if no op has this number.
Kept& FindKept(int64_t number);
int64_t Keep(std::unique_ptr<popart::Op> op, std::string library);

// The outputs of an op for given inputs, and the plan that computes them.
struct Prepared {
  Infos outputs;
  Plan plan;
};

std::unique_ptr<popart::Op> Clone(const popart::Op& op);

// Sets an op's inputs, calls its setup() and returns the types of its outputs.
Infos Setup(popart::Op* op, const Infos& inputs);

// Prepares the computation of an op. All of these functions also throw what the op throws.
std::unique_ptr<const Prepared> Prepare(const Instance& instance, const Infos& inputs);

}  // namespace popart_cpu
