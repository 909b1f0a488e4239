// Ops as ONNX Runtime knows them: a name in a domain, and the types of inputs and outputs.
#ifndef PYKERNELS_REGISTRY_POPART_NODE_TYPES_H_
#define PYKERNELS_REGISTRY_POPART_NODE_TYPES_H_

#include <onnxruntime/custom_op.h>

#include <string>
#include <vector>

#include "instance.h"
#include "registry.h"

namespace popart_cpu {

// The attribute of a node that is an op which exists already: its number.
constexpr const char* kInstanceAttribute = "popart_op";

class Node;

// A node type for some types of its tensors, as ONNX's numbers.
struct Variant : pykernels::onnxruntime::CustomOp<Variant, Node> {
  Variant(const popart::OperatorIdentifier& opid, const RegisteredOp* op, std::vector<int> inputs,
          std::vector<int> outputs, std::size_t n_required);

  std::string domain;
  std::string name;
  popart::OpVersion version;
  const RegisteredOp* op;  // null if all nodes are ops that exist already
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::size_t n_required;  // inputs behind the first so many may be left out
};

// The variants of an op by what its definition says of types; they live as long as the process.
std::vector<const Variant*> VariantsOf(const RegisteredOp& op);
// The variant for these very types.
const Variant* VariantOf(const popart::OperatorIdentifier& opid, const Infos& inputs, const Infos& outputs);

// Says what sessions are offered from now on. Throws if two of them are one op.
void Offer(std::vector<const Variant*> variants);

}  // namespace popart_cpu

#endif  // PYKERNELS_REGISTRY_POPART_NODE_TYPES_H_
