// Gradients in OneFlow's graphs: ops that are added to the graph.
#include <map>

#include "../../gradient.h"

namespace pykernels::oneflow {
namespace {

Prepared Prepare(const OpType& type, const user_op::UserOpWrapper& forward) {
  Counts counts;
  for (const std::string& argument : type.inputs()) counts.inputs.push_back(forward.input_size(argument));
  for (const std::string& argument : type.outputs()) counts.outputs.push_back(forward.output_size(argument));
  Prepared prepared;
  prepared.instance = type.FindInstance(counts, AttributesOfWrapper(forward));
  Tensors inputs = prepared.instance->blank_inputs();
  for (pk_tensor& input : inputs) {
    const auto& described = forward.TensorDesc4ArgNameAndIndex(input.argument, input.index);
    SetType(described.data_type(), described.shape(), &input);
  }
  prepared.specialization = prepared.instance->Specialize(inputs);
  return prepared;
}

// Adds the ops of one plan to a graph.
class Writer {
 public:
  Writer(const Specialization& forward, user_op::BackwardOpConfContext* context)
      : inputs_(forward.inputs()), plan_(PlanGradient(forward, context->FwOp().op_name())), context_(context) {
    for (const PlannedOp& op : plan_.ops) {
      for (const auto& [argument, count] : op.outputs) {
        for (int32_t i = 0; i < count; ++i) outputs_[OutputBlob(op, argument, i)] = {&op, argument, i};
      }
    }
  }

  void Write() {
    for (const PlannedOp& op : plan_.ops) {
      context_->DefineOp(op.name, [&](user_op::BackwardOpBuilder& builder) { return Build(op, &builder); });
    }
    for (const pk_tensor& input : inputs_) Bind(input);
  }

 private:
  struct Output {
    const PlannedOp* op;
    std::string argument;
    int32_t index;
  };

  // OneFlow wants a gradient for every input that something trained may be behind.
  void Bind(const pk_tensor& input) {
    std::string bound;
    context_->FwOp().InputGradBind(user_op::OpArg(input.argument, input.index), [&]() -> const std::string& {
      const auto found = plan_.bindings.find({input.argument, input.index});
      bound = found != plan_.bindings.end() ? Find(found->second)
                                            : AddZeros(context_->FwOp().input(input.argument, input.index), input);
      return bound;
    });
  }

  user_op::UserOpConfWrapper Build(const PlannedOp& op, user_op::BackwardOpBuilder* builder) {
    builder->OpTypeName(OpType::Find(op.type).name());
    for (const auto& [argument, blob] : op.inputs) builder->InputBind(argument, Find(blob));
    for (const auto& [argument, count] : op.outputs) builder->Output(argument, count);
    for (const auto& value : op.attributes) SetAttribute(value->get(), builder);
    builder->Attr<bool>(kIsTrain, context_->FwOp().attr<bool>(kIsTrain));
    builder->Attr<std::string>(kCaller, context_->FwOp().attr<std::string>(kCaller));
    return builder->Build();
  }

  // OneFlow's name of a tensor of the plan; adds the op that makes it, so before the op that reads it.
  std::string Find(const std::string& blob) {
    const auto found = outputs_.find(blob);
    if (found != outputs_.end()) {
      const auto& [op, argument, index] = found->second;
      return context_->GetOp(op->name).output(argument, index);
    }
    const ForwardBlob forward = ParseForwardBlob(blob);
    const auto& op = context_->FwOp();
    switch (forward.kind) {
      case ForwardBlob::kInput: return op.input(forward.argument, forward.index);
      case ForwardBlob::kOutput: return op.output(forward.argument, forward.index);
      case ForwardBlob::kOutputGradient: return FindOutputGradient(forward);
      default: Fail(kPykernelsError, "there is no '", blob, "'");
    }
  }

  std::string FindOutputGradient(const ForwardBlob& blob) {
    user_op::UserOpWrapper& op = context_->FwOp();
    if (op.HasGradTensor4OpOutput(blob.argument, blob.index)) return op.output_grad(blob.argument, blob.index);
    // Nothing that is trained for depends on this output.
    pk_tensor output{};
    output.argument = blob.argument.c_str();
    output.index = blob.index;
    return AddZeros(op.output(blob.argument, blob.index), output);
  }

  // The name of zeros like the tensor `like`, which is `tensor` of the forward op.
  std::string AddZeros(const std::string& like, const pk_tensor& tensor) {
    const std::string name = Join(context_->FwOp().op_name(), "_no_gradient_", tensor.argument, "_", tensor.index);
    context_->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName("zero_like").InputBind("like", like).Output("out").Build();
    });
    return context_->GetOp(name).output("out", 0);
  }

  const Tensors inputs_;
  const PlannedGradient plan_;
  user_op::BackwardOpConfContext* context_;
  std::map<std::string, Output> outputs_;
};

of::Maybe<void> AddBackward(const OpType& type, user_op::BackwardOpConfContext* context) {
  return Report([&] {
    const Prepared prepared = Prepare(type, context->FwOp());
    Writer(*prepared.specialization, context).Write();
  });
}

}  // namespace

void EnterGraphGradient(const OpType& type) {
  if (type.op().is_declared_constant()) return;
  // An op without a gradient has one here that says so.
  auto& manager = user_op::UserOpRegistryMgr::Get();
  user_op::OpGradRegistry registry = manager.CheckAndGetOpGradRegistry(type.name());
  registry.SetBackwardOpConfGenFn(
      [&type](user_op::BackwardOpConfContext* context) { return AddBackward(type, context); });
  Check(registry.Finish());
  Check(manager.Register(registry.GetResult()));
}

}  // namespace pykernels::oneflow
