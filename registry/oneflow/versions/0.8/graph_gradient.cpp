// Adds the ops that compute gradients to OneFlow's graphs.
#include "../../../host/backward.h"
#include "../../op_type.h"

namespace pykernels::oneflow {
namespace {

Prepared Prepare(const OpType& type, const user_op::UserOpWrapper& forward) {
  Counts counts;
  for (const std::string& argument : type.inputs()) counts.inputs.push_back(forward.input_size(argument));
  for (const std::string& argument : type.outputs()) counts.outputs.push_back(forward.output_size(argument));
  Prepared prepared;
  prepared.instance = type.FindInstance(counts, AttributesOf(forward.user_op_conf()));
  Tensors inputs = prepared.instance->blank_inputs();
  for (pk_tensor& input : inputs) {
    const auto& described = forward.TensorDesc4ArgNameAndIndex(input.argument, input.index);
    SetType(described.data_type(), described.shape(), &input);
  }
  prepared.specialization = prepared.instance->Specialize(inputs);
  return prepared;
}

// Adds the ops of one plan to a graph, where tensors have names.
class Writer {
 public:
  Writer(const Specialization& forward, user_op::BackwardOpConfContext* context)
      : inputs_(forward.inputs()),
        outputs_(forward.outputs()),
        plan_(forward.instance(), inputs_, outputs_, context->FwOp().op_name().c_str()),
        context_(context) {}

  void Write() {
    const auto is_wanted = [&](size_t i) {
      return context_->FwOp().NeedGenGradTensor4OpInput(inputs_[i].argument, inputs_[i].index);
    };
    const auto forward = [&](size_t number) { return NameForward(number); };
    const auto run_step = [&](size_t at, Names* names) { AddStep(plan_.steps()[at], names); };
    const Names gradients = plan_.Run<Names>(is_wanted, forward, run_step);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!is_wanted(i)) continue;
      const pk_tensor& input = inputs_[i];
      // OneFlow requires a gradient for every input that may lead to a trained variable.
      const std::string name = plan_.IsBound(i) ? gradients[i] : AddZeros(InputName(input), input);
      context_->FwOp().BindGradTensorWithOpInput(name, input.argument, input.index);
    }
  }

 private:
  using Names = std::vector<std::string>;

  std::string InputName(const pk_tensor& tensor) const { return context_->FwOp().input(tensor.argument, tensor.index); }
  std::string OutputName(const pk_tensor& tensor) const {
    return context_->FwOp().output(tensor.argument, tensor.index);
  }

  std::string NameForward(size_t number) {
    if (number < plan_.first_output()) return InputName(inputs_[number]);
    if (number < plan_.first_gradient()) return OutputName(outputs_[number - plan_.first_output()]);
    const pk_tensor& output = outputs_[number - plan_.first_gradient()];
    user_op::UserOpWrapper& op = context_->FwOp();
    if (op.HasGradTensor4OpOutput(output.argument, output.index)) return op.output_grad(output.argument, output.index);
    // No trained variable depends on this output.
    return AddZeros(OutputName(output), output);
  }

  void AddStep(const GradientPlan::Step& step, Names* names) {
    context_->DefineOp(step.name, [&](user_op::BackwardOpBuilder& builder) {
      const OpType& type = OpType::Find(step.type);
      builder.OpTypeName(type.name());
      auto input = step.inputs.begin();
      for (size_t i = 0; i < type.inputs().size(); ++i) {
        for (int32_t k = 0; k < step.input_counts[i]; ++k) builder.InputBind(type.inputs()[i], (*names)[*input++]);
      }
      for (size_t i = 0; i < type.outputs().size(); ++i) {
        if (step.output_counts[i] > 0) builder.Output(type.outputs()[i], step.output_counts[i]);
      }
      for (const pk_attr& attribute : step.attributes.values()) SetAttribute(attribute, &builder);
      builder.Attr<bool>(kIsTrain, context_->FwOp().attr<bool>(kIsTrain));
      builder.Attr<std::string>(kCaller, context_->FwOp().attr<std::string>(kCaller));
      return builder.Build();
    });
    const OpType& type = OpType::Find(step.type);
    size_t number = step.first_output;
    for (size_t i = 0; i < type.outputs().size(); ++i) {
      for (int32_t k = 0; k < step.output_counts[i]; ++k) {
        (*names)[number++] = context_->GetOp(step.name).output(type.outputs()[i], k);
      }
    }
  }

  // Adds zeros like the tensor `like`, which is `tensor` of the forward op, and returns their name.
  std::string AddZeros(const std::string& like, const pk_tensor& tensor) {
    const std::string name = Join(context_->FwOp().op_name(), "_no_gradient_", tensor.argument, "_", tensor.index);
    context_->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName("zero_like").InputBind("like", like).Output("out").Build();
    });
    return context_->GetOp(name).output("out", 0);
  }

  const Tensors inputs_;
  const Tensors outputs_;
  const GradientPlan plan_;
  user_op::BackwardOpConfContext* context_;
};

of::Maybe<void> AddBackward(const OpType& type, user_op::BackwardOpConfContext* context) {
  return Report([&] {
    const Prepared prepared = Prepare(type, context->FwOp());
    // Checks the whole plan, including the types of all tensors: OneFlow would end the process on an invalid one.
    prepared.specialization->Backward();
    Writer(*prepared.specialization, context).Write();
  });
}

}  // namespace

void EnterGraphGradient(const OpType& type) {
  if (type.op().is_declared_constant()) return;
  // An op without a gradient is registered too, to report that when its gradient is requested.
  auto& manager = user_op::UserOpRegistryMgr::Get();
  user_op::OpGradRegistry registry = manager.CheckAndGetOpGradRegistry(type.name());
  registry.SetBackwardOpConfGenFn(
      [&type](user_op::BackwardOpConfContext* context) { return AddBackward(type, context); });
  Check(registry.Finish());
  Check(manager.Register(registry.GetResult()));
}

}  // namespace pykernels::oneflow
