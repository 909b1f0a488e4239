/* The backward op and the gradient that `.Backward` stands for, and the completion of all ops with tensor types. */
#pragma once

#include "oneflow/core/framework/user_op_registry_manager.h"
#include "pykernels/definition/typed_op.h"

namespace pykernels {

/* Adds the backward op and the gradient that `.Backward("x, dy -> dx")` of a forward op stands for. */
class TypedBackward {
 public:
  TypedBackward(Registry* registry, OpRegistry* forward)
      : forward_(forward->declaration()), line_(forward->backward()) {
    static const std::string kSuffix = "_forward";
    const std::string& name = forward_.name;
    const size_t stem = name.size() - std::min(name.size(), kSuffix.size());
    if (name.substr(stem) != kSuffix) {
      throw Failure(line_.at, "Backward: the name of op " + name + " must end in _forward");
    }
    const size_t arrow = line_.text.find("->");
    if (arrow == std::string::npos) {
      throw Failure(line_.at, "Backward: '" + line_.text + "' lacks '->', as in \"x, dy -> dx\"");
    }
    type_ = name.substr(0, stem) + "_backward";
    OpRegistry& op = registry->AddOp(type_, line_.at);
    for (const std::string& each : Items(line_.text.substr(0, arrow))) { AddInput(&op, each); }
    for (const std::string& each : Items(line_.text.substr(arrow + 2))) { AddOutput(&op, each); }
    for (const AttributeDecl& attribute : forward_.attributes) { op.AddAttribute(attribute); }
    for (const Line& line : forward->split()) {
      for (const ArgumentDecl& input : op.declaration().inputs) {
        if (!TensorType(input.type).Names(line.text)) { continue; }
        op.Split(line.text, line.condition, line.at);
        break;
      }
    }
    OpGradRegistry& gradient = registry->AddGradient(name, line_.at);
    gradient.plan = [plan = *this](::oneflow::user_op::UserOpWrapper* op, GradientPlan* to) { plan.Send(op, to); };
  }

 private:
  using UserOpWrapper = ::oneflow::user_op::UserOpWrapper;

  static std::vector<std::string> Items(const std::string& text) {
    std::vector<std::string> items;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      const std::string item = TensorType::Trimmed(text.substr(begin, end - begin));
      if (!item.empty()) { items.push_back(item); }
      begin = end + 1;
    }
    return items;
  }

  /* The forward argument that "d<name>" is the gradient of. */
  static const ArgumentDecl* FindGradient(const std::list<ArgumentDecl>& arguments, const std::string& name) {
    return name.empty() || name[0] != 'd' ? nullptr : FindNamed(arguments, name.substr(1));
  }

  void AddInput(OpRegistry* op, const std::string& name) {
    const ArgumentDecl* output = FindNamed(forward_.outputs, name);
    const ArgumentDecl* input = FindNamed(forward_.inputs, name);
    const ArgumentDecl* gradient = FindGradient(forward_.outputs, name);
    const ArgumentDecl* source = input != nullptr ? input : output != nullptr ? output : gradient;
    if (source == nullptr) {
      throw Failure(line_.at, "Backward: '" + name + "' is no input or output of op " + forward_.name
                    + ", and not the gradient of an output; inputs: " + Names(forward_.inputs) + "; outputs: "
                    + Names(forward_.outputs));
    }
    inputs_.push_back({name, source->name, input != nullptr ? 'I' : output != nullptr ? 'O' : 'D'});
    op->AddInput(Renamed(*source, name));
  }

  void AddOutput(OpRegistry* op, const std::string& name) {
    const ArgumentDecl* input = FindGradient(forward_.inputs, name);
    if (input == nullptr) {
      throw Failure(line_.at, "Backward: '" + name + "' is not the gradient of an input of op " + forward_.name
                    + ", which has: " + Names(forward_.inputs));
    }
    ArgumentDecl output = Renamed(*input, name);
    output.like = input->name;
    outputs_.push_back({name, input->name, 'I'});
    op->AddOutput(output);
  }

  ArgumentDecl Renamed(ArgumentDecl argument, const std::string& name) const {
    argument.name = name;
    argument.at = line_.at;
    argument.is_mutable = false;
    return argument;
  }

  void Send(UserOpWrapper* forward, GradientPlan* plan) const {
    OpUse use{forward->op_name() + "_grad", type_, line_.at, {}, {}, {}};
    for (const Bound& input : inputs_) {
      use.inputs.push_back({input.name, {}});
      const bool is_input = input.kind == 'I';
      const int32_t n = is_input ? forward->input_size(input.source) : forward->output_size(input.source);
      for (int32_t i = 0; i < n; ++i) {
        use.inputs.back().blobs.push_back(is_input             ? forward->input(input.source, i)
                                          : input.kind == 'O' ? forward->output(input.source, i)
                                                              : forward->output_grad(input.source, i));
      }
    }
    for (const Bound& output : outputs_) {
      use.outputs.push_back({output.name, {}});
      for (int32_t i = 0; i < forward->input_size(output.source); ++i) {
        use.outputs.back().blobs.push_back(use.name + "/" + output.name + "_" + std::to_string(i));
      }
    }
    for (const BoundAttribute& attribute : forward->user_op_conf().use()->attributes) {
      use.attributes.push_back({attribute.name, attribute.value});
    }
    plan->Add(use);
    for (const Bound& output : outputs_) {
      for (int32_t i = 0; i < forward->input_size(output.source); ++i) {
        if (!forward->NeedGenGradTensor4OpInput(output.source, i)) { continue; }
        forward->BindGradTensorWithOpInput(use.name + "/" + output.name + "_" + std::to_string(i), output.source, i);
      }
    }
  }

  /* An argument of the backward op, and the forward argument that it is ('I', 'O') or whose gradient it is ('D'). */
  struct Bound {
    std::string name;
    std::string source;
    char kind;
  };

  const Declaration& forward_;
  const Line line_;
  std::string type_;
  std::vector<Bound> inputs_, outputs_;
};

/* Completes the ops of a registry whose arguments have types. Functions that an op sets itself stay. */
inline void CompleteTypedOps(Registry* registry) {
  using namespace ::oneflow::user_op;  // NOLINT
  for (OpRegistry& op : registry->ops()) {  // also those that this loop adds
    try {
      if (!op.backward().text.empty()) { TypedBackward(registry, &op); }
      if (!op.IsTyped()) { continue; }
      const auto typed = std::make_shared<const TypedOp>(op);
      if ((op.flags() & PK_OP_INFERS_SHAPE) == 0) {
        op.SetLogicalTensorDescInferFn([typed](InferContext* ctx) { typed->InferShapes(ctx->instance()); });
      }
      if ((op.flags() & PK_OP_INFERS_DTYPE) == 0) {
        op.SetDataTypeInferFn([typed](InferContext* ctx) { typed->InferDataTypes(ctx->instance()); });
      }
      if ((op.flags() & PK_OP_HAS_SBP) == 0 && !op.split().empty()) {
        op.SetGetSbpFn([typed](SbpContext* ctx) { typed->ListSbp(ctx); });
      }
    } catch (const Failure& failure) { op.AddProblem(failure.what()); }
  }
}

}  // namespace pykernels
