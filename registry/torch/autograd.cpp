// Records calls of ops in PyTorch's autograd graph.
#include <cctype>
#include <map>

#include "forward_mode.h"
#include "gradient.h"
#include "kernels.h"

namespace pykernels::torch_ops {
namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;

// How PyTorch holds the nodes of its graph: in std::shared_ptr, or in c10::intrusive_ptr in later versions.
using NodePointer = decltype(torch::autograd::Edge::function);

// Both functions are templates because their branches use names that only some versions have.
template <typename T, typename Pointer = NodePointer, typename... Args>
auto MakeNode(Args&&... args) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>) {
    // Frees long chains of nodes without recursion.
    return std::shared_ptr<T>(new T(std::forward<Args>(args)...), [](T* node) { deleteNode(node); });
  } else {
    return c10::make_intrusive<T>(std::forward<Args>(args)...);
  }
}

template <typename T, typename Pointer = NodePointer>
Pointer PointerTo(T* node) {
  if constexpr (std::is_same_v<Pointer, std::shared_ptr<Node>>) {
    return node->shared_from_this();
  } else {
    return Pointer::reclaim_copy(node);
  }
}

// Returns "LeakyReluBackward" for "leaky_relu_forward", following the names of PyTorch's own nodes.
std::string NodeName(const std::string& type) {
  std::string name;
  bool starts_word = true;
  const std::string suffix = "_forward";
  const bool is_forward =
      type.size() > suffix.size() && type.compare(type.size() - suffix.size(), suffix.size(), suffix) == 0;
  for (char c : type.substr(0, type.size() - (is_forward ? suffix.size() : 0))) {
    if (c != '_') name += starts_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    starts_word = c == '_';
  }
  return name + "Backward";
}

// One call of an op in the autograd graph.
class Call : public Node {
 public:
  // A tensor of the forward pass that the plan reads.
  struct Saved {
    size_t number;  // in the plan
    SavedVariable variable;
  };

  explicit Call(const Loaded& loaded) : loaded_(loaded) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!gradient) Fail(kDefinitionError, refusal);
    const GradientPlan& plan = gradient->plan();
    Tensors tensors(plan.first_gradient());
    {
      std::lock_guard lock(mutex_);
      for (const Saved& each : saved) {
        tensors[each.number] = each.number < plan.first_output()
                                   ? each.variable.unpack()
                                   : each.variable.unpack(PointerTo(this));
      }
    }
    const auto forward = [&](size_t number) {
      if (number < plan.first_gradient()) return std::move(tensors[number]);
      const size_t output = number - plan.first_gradient();
      return gradients[output].defined() ? std::move(gradients[output]) : MakeZeros(output);
    };
    return gradient->Run([this](size_t input) { return task_should_compute_output(input); }, forward, is_train);
  }

  void release_variables() override {
    std::lock_guard lock(mutex_);
    for (Saved& each : saved) each.variable.reset_data();
  }

  std::string name() const override { return NodeName(loaded_.op().name()); }

  std::shared_ptr<const Gradient> gradient;  // null if there is none; then `refusal` says why
  std::string refusal;
  bool is_train = false;
  c10::SmallVector<Saved, 2> saved;
  // Outputs that cannot have a gradient although the plan reads it, by position.
  std::map<size_t, std::pair<std::vector<c10::SymInt>, at::TensorOptions>> without_gradient;

 private:
  Tensor MakeZeros(size_t output) const {
    const auto found = without_gradient.find(output);
    if (found == without_gradient.end()) return input_metadata(output).zeros_like();
    const auto& [sizes, options] = found->second;
    return at::zeros_symint(sizes, options);
  }

  const Loaded& loaded_;
};

void RefuseGradientOfStates(const Instance& instance, const Tensors& inputs) {
  for (size_t i = inputs.size() - instance.n_states(); i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad()) continue;
    Fail(kCallError, "op '", instance.label(), "': it changes its input '", instance.input_names()[i],
         "' in place, which requires a gradient; make it a buffer (register_buffer) or detach() it");
  }
}

void Redispatch(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
  at::AutoDispatchBelowADInplaceOrView below;
  handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
}

void BumpVersions(const Instance& instance, const Tensors& inputs) {
  for (size_t i = inputs.size() - instance.n_states(); i < inputs.size(); ++i) {
    if (!inputs[i].is_inference()) inputs[i].unsafeGetTensorImpl()->bump_version();
  }
}

// Connects the outputs to the graph.
void Connect(const NodePointer& owner, Call* node, const Tensors& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    const bool is_used = !node->gradient || node->gradient->UsesGradientOf(i);
    const bool has_history = is_used && torch::autograd::isDifferentiableType(output.scalar_type());
    if (is_used && !has_history) node->without_gradient[i] = {output.sym_sizes().vec(), output.options()};
    torch::autograd::set_history(has_history ? output : Tensor(), owner);
  }
}

// Saves what the plan reads.
void Save(Call* node, const Instance& instance, const Tensors& inputs, const Tensors& outputs) {
  if (!node->gradient) return;
  const GradientPlan& plan = node->gradient->plan();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!plan.reads().inputs[i]) continue;
    // Save a copy of the state as this call leaves it, because later calls change it.
    const bool is_state = i >= inputs.size() - instance.n_states();
    node->saved.push_back({i, SavedVariable(is_state ? inputs[i].clone() : inputs[i], false)});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!plan.reads().outputs[i]) continue;
    node->saved.push_back({plan.first_output() + i, SavedVariable(outputs[i], outputs[i].requires_grad())});
  }
}

// Returns the node of a call in the graph; null if no input can have a gradient.
auto MakeCall(const TorchOp& op, const Loaded& loaded, const Use& use, const Tensors& inputs, const Tensors& outputs,
              bool is_train) {
  auto node = MakeNode<Call>(loaded);
  node->is_train = is_train;
  if (loaded.op().has_gradient()) {
    node->gradient = use.FindGradient(inputs, outputs);
    bool is_any_bound = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      is_any_bound |= inputs[i].requires_grad() && node->gradient->plan().IsBound(i);
    }
    if (!is_any_bound) node.reset();
  } else {
    node->refusal = DescribeMissingGradient(loaded.op(), op.qualified_name());
  }
  if (node) node->set_next_edges(torch::autograd::collect_next_edges(at::ArrayRef<Tensor>(inputs)));
  return node;
}

}  // namespace

void RunAutograd(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
  const Loaded& loaded = op.loaded();
  const Layout& layout = loaded.layout();
  const IValue* arguments = stack->data() + stack->size() - layout.n_arguments();
  bool any_requires_grad = false, has_tangent = false;
  layout.ForEachInput(arguments, [&](const Tensor& input) {
    has_tangent |= HasTangent(input);
    any_requires_grad |= input.requires_grad();
  });
  const bool is_constant = loaded.op().is_declared_constant();
  const bool is_recorded = any_requires_grad && at::GradMode::is_enabled() && !is_constant;
  if (!is_recorded && !has_tangent && !layout.has_states()) return Redispatch(handle, keys, stack);

  const Tensors inputs = layout.Inputs(arguments);
  const std::shared_ptr<const Use> use = loaded.FindUse(arguments);
  const Instance& instance = use->instance();
  if (is_recorded && !layout.n_results()) {
    Fail(kCallError, "op '", instance.label(), "': it has no outputs and so no gradient, but an input requires one; ",
         "detach() the input, or call the op under torch.no_grad()");
  }
  if (is_recorded) RefuseGradientOfStates(instance, inputs);
  const bool is_train = layout.IsTrain(arguments);
  std::optional<TangentCall> tangents;
  if (has_tangent && !is_constant) tangents.emplace(op, arguments);
  Redispatch(handle, keys, stack);
  BumpVersions(instance, inputs);
  const IValue* results = stack->data() + stack->size() - layout.n_results();
  const Tensors outputs = layout.Outputs(results);
  const auto node = is_recorded ? MakeCall(op, loaded, *use, inputs, outputs, is_train) : nullptr;
  if (node) Connect(node, node.get(), outputs);
  // The graph keeps tensors with their tangents.
  if (tangents) tangents->Run(results);
  if (node) Save(node.get(), instance, inputs, outputs);
}

}  // namespace pykernels::torch_ops
