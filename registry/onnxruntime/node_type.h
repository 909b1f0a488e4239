// A node type of sessions: a name in a domain, a flat list of inputs and outputs, and their types.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../host/op.h"
#include "custom_op.h"

namespace pykernels::onnxruntime {

// The maximum number of inputs, and of outputs, of a node.
constexpr size_t kMostSlots = 64;

// A place for an input or output of a node.
struct Slot {
  int32_t argument;
  bool is_optional;
};

class Node;
class NodeType;

// A node type for some types of its tensors.
struct Variant : CustomOp<Variant, Node> {
  explicit Variant(const NodeType& type);

  const NodeType& type;
  std::vector<int32_t> inputs;  // a pk_dtype for each slot, PK_INVALID_DTYPE for any
  std::vector<int32_t> outputs;
};

class NodeType {
 public:
  // `dtypes` has a row for each variant: the pk_dtype of every input argument, or PK_INVALID_DTYPE for any, then that
  // of every output argument.
  NodeType(std::string domain, std::string name, std::shared_ptr<const Op> op, const int32_t* dtypes, int32_t n_rows);

  const std::string& domain() const { return domain_; }
  const std::string& name() const { return name_; }
  const std::shared_ptr<const Op>& op() const { return op_; }
  const std::vector<Slot>& inputs() const { return inputs_; }
  const std::vector<Slot>& outputs() const { return outputs_; }
  const std::vector<std::unique_ptr<const Variant>>& variants() const { return variants_; }

 private:
  std::string domain_;
  std::string name_;
  std::shared_ptr<const Op> op_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  std::vector<std::unique_ptr<const Variant>> variants_;
};

// Returns the node types that RegisterCustomOps adds to a session's options; they live as long as the process. The
// registrar and a library each have their own.
std::vector<const NodeType*> OfferedTypes();

}  // namespace pykernels::onnxruntime
