#include "recorded_gradient.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../host/error.h"

namespace pykernels::mxnet {
namespace {

// Marks a state of ours by its address.
constexpr char kRecorded[] = "recorded";

constexpr MXCallbackList no_callbacks{};

// Returns what autograd keeps for a recorded node, or null.
AutogradInfo* InfoOf(const Node& node) {
  const Any::Type* type = node.info.type;
  if (!type || std::strcmp(type->info->name(), "N5mxnet10Imperative6AGInfoE") != 0) return nullptr;
  auto* info = static_cast<AutogradInfo*>(node.info.heap);
  return info->state ? info : nullptr;
}

const CustomParam& ParamOf(const AutogradInfo& info) { return *static_cast<const CustomParam*>(info.state->state); }

// MXNet records a node before it sets its inputs.
bool IsBeingRecorded(const Node& node) { return !node.inputs.front().node; }

// Sets the plan of a recorded node that has run with `own`, and which tensors of the plan the node reads and computes.
void SetPlan(const CustomParam& own, const Operator& op, RecordedGradient* recorded) {
  recorded->plan = &op.specialization().Backward();
  const GradientPlan& plan = recorded->plan->plan();
  for (const int* number = own.dependencies; number != own.dependencies_end; ++number) {
    // MXNet counts gradients of outputs first, then arguments, then outputs.
    const size_t at = *number;
    const size_t outputs = own.num_outs + own.num_args;
    recorded->inputs.push_back(at < own.num_outs ? plan.first_gradient() + at
                               : at < outputs    ? at - own.num_outs
                                                 : plan.first_output() + at - outputs);
  }
  for (size_t i = 0; i < own.num_auxs; ++i) recorded->inputs.push_back(own.num_args + i);
  for (size_t i = 0; i < own.num_args; ++i) recorded->outputs.push_back(i);
}

// Does the same for a node that has run the gradient of another recorded node.
void SetPlan(const RecordedGradient& own, RecordedGradient* recorded) {
  recorded->plan = &own.plan->Backward();
  for (const int number : own.needed) {
    const size_t at = number;
    recorded->inputs.push_back(at < own.outputs.size() ? recorded->plan->plan().first_gradient() + own.outputs[at]
                                                       : own.inputs[at - own.outputs.size()]);
  }
  recorded->outputs = own.inputs;
}

// Returns what the gradient of a recorded node reads, and resolves its kernels.
std::vector<int> FindNeeded(const RecordedGradient& recorded) {
  const auto n_outputs = static_cast<int>(recorded.outputs.size());
  std::vector<int> needed;
  try {
    const BackwardPlan& backward = recorded.plan->Backward();
    const Dependencies& reads = backward.plan().reads();
    for (int i = 0; i < n_outputs; ++i) {
      if (reads.output_gradients[recorded.outputs[i]]) needed.push_back(i);
    }
    for (size_t i = 0; i < recorded.inputs.size(); ++i) {
      if (reads.inputs[recorded.inputs[i]]) needed.push_back(n_outputs + static_cast<int>(i));
    }
    backward.Resolve();
  } catch (const Error&) {
    // Running it reports that.
  }
  // MXNet takes the device from the arrays that it reads, so request at least one.
  if (needed.empty()) needed.push_back(0);
  return needed;
}

// Replaces the state of a node that is being recorded; its own is no longer needed there. Leaves nodes that run others'
// operators as they are.
void Prepare(AutogradInfo* info) {
  const CustomParam& own = ParamOf(*info);
  const RecordedGradient* gradient = AsRecorded(own);
  const Operator* op = gradient ? nullptr : dynamic_cast<const Operator*>(OperatorOf(*own.info));
  if (!gradient && !op) return;
  auto made = std::make_shared<RecordedGradient>();
  made->own = info->state;
  try {
    if (op) {
      SetPlan(own, *op, made.get());
    } else {
      SetPlan(*gradient, made.get());
    }
    made->needed = FindNeeded(*made);
  } catch (const Error& error) {
    made->failure = error.what();
  }
  made->op_type = kRecorded;
  made->num_args = made->inputs.size();
  made->num_outs = made->outputs.size();
  made->dependencies = made->needed.data();
  made->dependencies_end = made->dependencies + made->needed.size();
  made->info = &no_callbacks;
  made->state = {info->state->variable, static_cast<CustomParam*>(made.get())};
  info->state = OpStatePtr(made, &made->state);
}

// -- Nodes ------------------------------------------------------------------------------------------------------------

// What MXNet asks about a node that runs the gradient of a recorded node.
class GradientProperty final : public CustomProperty {
 public:
  explicit GradientProperty(const RecordedGradient& recorded)
      : arguments_(recorded.inputs.size(), "input"), outputs_(recorded.outputs.size(), "output"),
        needed_(recorded.needed) {
    arguments_.push_back(nullptr);
    outputs_.push_back(nullptr);
    argument_names = arguments_.data();
    output_names = outputs_.data();
    state_names = &arguments_.back();
  }

  bool RunsInEngine() const override { return true; }

  void DeclareBackwardDependency(const int* /*output_gradients*/, const int* /*inputs*/, const int* /*outputs*/, int* n,
                                 int** list) const override {
    *n = static_cast<int>(needed_.size());
    *list = const_cast<int*>(needed_.data());
  }

  void InferBackwardStorageType(int n, int* storages, int* /*tags*/) const override {
    InferDenseStorage("a second derivative", n, storages);
  }

  // MXNet asks the rest only about nodes of `Custom`.
  void InferShape(int /*n*/, int* /*ndims*/, int** /*shapes*/) const override { Refuse(); }
  void InferType(int /*n*/, int* /*types*/) const override { Refuse(); }
  void InferStorageType(int /*n*/, int* /*storages*/) const override { Refuse(); }
  std::unique_ptr<CustomOperator> CreateOperator(const char* /*context*/, int /*n*/, unsigned** /*shapes*/,
                                                 const int* /*ndims*/, const int* /*types*/) const override {
    Refuse();
  }

  [[noreturn]] static void Refuse() {
    Fail(kCallError, "op '", GradientOpName(), "' is for second derivatives, and not to be called");
  }

 private:
  std::vector<const char*> arguments_;
  std::vector<const char*> outputs_;
  std::vector<int> needed_;
};

// What this thread makes a node for, while CreateGradientProperty has not been called for it.
thread_local const RecordedGradient* being_made = nullptr;

const RegisteredOp* FindOp(const char* name) {
  void* op = nullptr;
  Check(Api().GetOpHandle(name, &op));
  return static_cast<const RegisteredOp*>(op);
}

// Returns a new node without inputs.
NodePtr MakeNode(const char* op, const Attributes::Strings& attributes) {
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : attributes) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
  }
  SymbolHandle symbol = nullptr;
  Check(Api().SymbolCreateAtomicSymbol(FindOp(op), static_cast<uint32_t>(keys.size()), keys.data(), values.data(),
                                       &symbol));
  NodePtr node = static_cast<const Symbol*>(symbol)->outputs.front().node;
  Check(Api().SymbolFree(symbol));
  return node;
}

NodePtr MakeGradientNode(const RecordedGradient& recorded) {
  being_made = &recorded;
  NodePtr node = MakeNode("Custom", {{"op_type", GradientOpName()}});
  node->attributes.op = FindOp("_backward_Custom");
  return node;
}

bool IsZero(const NodeEntry& gradient) {
  const RegisteredOp* op = gradient.node ? gradient.node->attributes.op : nullptr;
  return op && (std::strcmp(op->name, "zeros_like") == 0 || std::strcmp(op->name, "_zeros") == 0);
}

bool AreZero(const std::vector<NodeEntry>& gradients) {
  return std::all_of(gradients.begin(), gradients.end(), IsZero);
}

// Returns what MXNet's own operators return for gradients that are zero, and leaves out of sums.
std::vector<NodeEntry> MakeZeros(const std::vector<NodeEntry>& inputs) {
  std::vector<NodeEntry> zeros;
  for (const NodeEntry& input : inputs) {
    zeros.push_back({MakeNode("zeros_like", {}), 0, 0});
    zeros.back().node->inputs.push_back(input);
  }
  return zeros;
}

}  // namespace

const RecordedGradient* AsRecorded(const CustomParam& param) {
  return param.op_type == kRecorded ? static_cast<const RecordedGradient*>(&param) : nullptr;
}

void RecordedGradient::Run(const std::vector<Array>& arrays, const std::vector<Array>& results, const int* requests,
                           bool is_train) const {
  const std::vector<Target> wanted = ToTargets(results, requests);
  OrFillFailed(results, wanted, [&] {
    const BackwardPlan& backward = plan->Backward();
    const size_t n_inputs = backward.plan().first_output();
    const size_t n_outputs = backward.plan().first_gradient() - n_inputs;
    ForwardBuffers buffers{std::vector<const void*>(n_inputs), std::vector<const void*>(n_outputs),
                           std::vector<const void*>(n_outputs)};
    const auto require_type = [&](const Array& array, size_t tensor) {
      const pk_tensor& type = backward.types()[tensor];
      if (!Differs(array, type)) return;
      Fail(kPykernelsError, "the second derivative of op '", backward.label(), "': MXNet gives ", Describe(array.type),
           ", but ", Describe(type), " is inferred");
    };
    for (size_t i = 0; i < arrays.size(); ++i) {
      const size_t at = needed[i];
      if (at < outputs.size()) {
        require_type(arrays[i], n_inputs + n_outputs + outputs[at]);
        buffers.output_gradients[outputs[at]] = arrays[i].data;
      } else {
        require_type(arrays[i], inputs[at - outputs.size()]);
        buffers.inputs[inputs[at - outputs.size()]] = arrays[i].data;
      }
    }
    std::vector<Target> targets(n_inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      require_type(results[i], inputs[i]);
      targets[inputs[i]] = wanted[i];
    }
    backward.Run(buffers, targets, is_train);
  });
}

std::optional<std::vector<NodeEntry>> DifferentiateGradient(const NodePtr& node,
                                                            const std::vector<NodeEntry>& output_gradients) {
  AutogradInfo* info = InfoOf(*node);
  const bool is_recording = IsBeingRecorded(*node);
  if (info && is_recording) Prepare(info);
  const RecordedGradient* recorded = info ? AsRecorded(ParamOf(*info)) : nullptr;
  if (!recorded) return std::nullopt;
  if (AreZero(output_gradients)) return MakeZeros(node->inputs);
  std::vector<NodeEntry> gradients;
  if (!recorded->plan) {
    if (is_recording) return gradients;
    throw Error(kDefinitionError, recorded->failure);
  }
  const NodePtr gradient = MakeGradientNode(*recorded);
  gradient->control_dependencies.push_back(node);
  for (const int number : recorded->needed) {
    const size_t at = number;
    const size_t n_outputs = recorded->outputs.size();
    gradient->inputs.push_back(at < n_outputs ? output_gradients[at] : node->inputs[at - n_outputs]);
  }
  for (uint32_t i = 0; i < recorded->inputs.size(); ++i) gradients.push_back({gradient, i, 0});
  return gradients;
}

std::vector<NodeEntry> DifferentiateOthers(const NodePtr& node, const std::vector<NodeEntry>& output_gradients) {
  if (IsBeingRecorded(*node)) return {};
  if (AreZero(output_gradients)) return MakeZeros(node->inputs);
  const auto* param = static_cast<const CustomParam*>(node->attributes.parsed.heap);
  Fail(kCallError, "the gradient of operator '", param->op_type,
       "' has no gradient: nobody knows the derivatives of what a class computes. Write it as the kernel of an op "
       "folder, whose second derivative `python -m pykernels derive --second` writes");
}

std::string GradientOpName() {
  // Every library of this code has an operator of its own.
  return Join("_pykernels_gradient_", static_cast<const void*>(kRecorded));
}

int CreateGradientProperty(const char* /*op_type*/, int /*num_kwargs*/, const char** /*keys*/, const char** /*values*/,
                           MXCallbackList* ret) {
  return GiveMade(ret, []() -> std::unique_ptr<CustomProperty> {
    const RecordedGradient* recorded = std::exchange(being_made, nullptr);
    if (!recorded) GradientProperty::Refuse();
    return std::make_unique<GradientProperty>(*recorded);
  });
}

}  // namespace pykernels::mxnet
