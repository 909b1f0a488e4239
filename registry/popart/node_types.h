// The node types of ONNX Runtime (a name in a domain, and the types of inputs and outputs), and the nodes of a session.
#pragma once

#include <onnxruntime/custom_op.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "instance.h"
#include "registry.h"

namespace popart_cpu {

// The attribute that marks a node as an op that already exists; its value is the op's number.
constexpr const char* kInstanceAttribute = "popart_op";

class Node;

// A node type for given tensor types, as ONNX's numbers.
struct Variant : pykernels::onnxruntime::CustomOp<Variant, Node> {
  Variant(const popart::OperatorIdentifier& opid, const RegisteredOp* op, std::vector<int> inputs,
          std::vector<int> outputs, std::size_t n_required);

  std::string domain;
  std::string name;
  popart::OpVersion version;
  const RegisteredOp* op;  // null if all nodes are existing ops
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::size_t n_required;  // later inputs are optional
};

// Returns the variants of an op for the types in its definition; they live as long as the process.
std::vector<const Variant*> VariantsOf(const RegisteredOp& op);
// Returns the variant for exactly these types.
const Variant* VariantOf(const popart::OperatorIdentifier& opid, const Infos& inputs, const Infos& outputs);

// Sets the node types for sessions created from now on. Throws if two ops have the same node type.
void Offer(std::vector<const Variant*> variants);

// Throws the text of a status if it is an error.
void Check(const OrtApi& api, OrtStatus* status);

// A node, which several threads may use at the same time.
class Node {
 public:
  Node(const Variant& variant, const OrtApi& api, const OrtKernelInfo* info);

  const OrtApi& api() const { return api_; }
  const Variant& variant() const { return variant_; }
  void Run(OrtKernelContext* context) const;

 private:
  std::shared_ptr<const Prepared> Find(const Infos& inputs) const;

  const OrtApi& api_;
  const Variant& variant_;
  Instance instance_;
  mutable std::mutex mutex_;
  // the newest first
  mutable std::vector<std::pair<Infos, std::shared_ptr<const Prepared>>> prepared_;
};

}  // namespace popart_cpu
