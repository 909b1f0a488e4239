// The ops that PyTorch has of us, and the uses that are made of them.
#ifndef PYKERNELS_REGISTRY_TORCH_OP_H_
#define PYKERNELS_REGISTRY_TORCH_OP_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../host/instance.h"
#include "../host/mutex.h"
#include "layout.h"

namespace pykernels::torch_ops {

class GradientPlan;

// An op with certain attributes and a certain number of tensors.
class Use {
 public:
  Use(const std::shared_ptr<const Op>& op, const Layout& layout, const IValue* arguments);

  // Whether a call with these arguments is this use.
  bool Is(const Layout& layout, const IValue* arguments) const;

  const Instance& instance() const { return instance_; }
  const std::vector<int32_t>& output_counts() const { return output_counts_; }

  // What to run for these inputs.
  std::shared_ptr<const Specialization> Specialize(const Tensors& inputs) const;

  // What the kernel sees of tensors: their dtypes and shapes. Symbolic sizes become fixed.
  pykernels::Tensors TypesOf(const Tensors& inputs) const;

  // How the gradients of these inputs are computed; throws if there is no way.
  std::shared_ptr<const GradientPlan> Gradient(const Tensors& inputs, const Tensors& outputs) const;

 private:
  std::vector<IValue> attributes_;
  std::vector<int32_t> input_counts_;
  std::vector<int32_t> output_counts_;
  Instance instance_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<const Specialization> latest_;
  mutable std::shared_ptr<const GradientPlan> plan_;
};

// What a name stands for while it is loaded. Whoever has one may keep it: none is ever deleted, since graphs and
// pending calls use what they have been given.
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
  mutable std::vector<std::shared_ptr<const Use>> uses_;  // the newest last
};

// An op type, which lives as long as the process.
class TorchOp {
 public:
  explicit TorchOp(std::string type) : type_(std::move(type)) {}

  // Makes it if there is none of this type.
  static TorchOp& Get(const std::string& type);
  // The one of an op type that a gradient names; loads its folder if need be.
  static const TorchOp& Find(const std::string& type);

  // What is loaded now; loads the folder if need be.
  const Loaded& loaded() const;
  // Null for nothing.
  void Load(const Loaded* loaded) { loaded_.store(loaded, std::memory_order_release); }

  // The name by which PyTorch knew it first, and what it has under that name.
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

#endif  // PYKERNELS_REGISTRY_TORCH_OP_H_
