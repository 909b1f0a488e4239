// The ops that PyTorch knows, and their uses.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "layout.h"

namespace pykernels::torch_ops {

class Gradient;

// An op with given attributes and numbers of tensors.
class Use {
 public:
  Use(const std::shared_ptr<const Op>& op, const Layout& layout, const IValue* arguments);

  // Returns whether a call with these arguments is this use.
  bool Is(const Layout& layout, const IValue* arguments) const;

  const Instance& instance() const { return instance_; }
  const std::vector<int32_t>& output_counts() const { return output_counts_; }

  // Returns what to run for these inputs.
  std::shared_ptr<const Specialization> Specialize(const Tensors& inputs) const;

  // Returns the dtypes and shapes of tensors, as the kernel sees them. Symbolic sizes become fixed.
  pykernels::Tensors TypesOf(const Tensors& inputs) const;

  // Returns how to compute the gradients of these inputs; throws if it is impossible.
  std::shared_ptr<const Gradient> FindGradient(const Tensors& inputs, const Tensors& outputs) const;

 private:
  std::vector<IValue> attributes_;
  std::vector<int32_t> input_counts_;
  std::vector<int32_t> output_counts_;
  Instance instance_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Specialization> latest_;
  mutable std::shared_ptr<const Gradient> gradient_;
};

// The op that a type name stands for while it is loaded. Anyone may keep a pointer to it: none is ever deleted, because
// graphs and pending calls use them.
class Loaded {
 public:
  Loaded(std::shared_ptr<const Op> op, bool takes_is_train);

  const Op& op() const { return *op_; }
  const Layout& layout() const { return layout_; }
  std::shared_ptr<const Use> FindUse(const IValue* arguments) const;

 private:
  std::shared_ptr<const Op> op_;
  Layout layout_;
  mutable Mutex mutex_;
  mutable std::vector<std::shared_ptr<const Use>> uses_;  // newest last
};

// An op type, which lives as long as the process.
class TorchOp {
 public:
  explicit TorchOp(std::string type) : type_(std::move(type)) {}

  // Returns the op of this type and creates it if necessary.
  static TorchOp& Get(const std::string& type);
  // Returns the op of a type that a gradient names; loads its folder if necessary.
  static const TorchOp& Find(const std::string& type);

  // Returns the loaded op; loads its folder if necessary.
  const Loaded& loaded() const;
  // Sets the loaded op; null unloads it.
  void Load(const Loaded* loaded) { loaded_.store(loaded, std::memory_order_release); }

  // The name under which PyTorch first knew the op, and the operator under that name.
  const std::string& qualified_name() const { return qualified_name_; }
  void SetOperator(const std::string& qualified_name);
  bool has_operator() const { return operator_.has_value(); }
  void Call(Stack* stack) const { operator_->callBoxed(stack); }

 private:
  const std::string type_;
  std::string qualified_name_;
  std::optional<c10::OperatorHandle> operator_;
  std::atomic<const Loaded*> loaded_{nullptr};
};

}  // namespace pykernels::torch_ops
