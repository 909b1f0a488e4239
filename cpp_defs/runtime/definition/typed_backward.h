/* The backward op and the gradient that `.Backward` stands for. */
#pragma once

#include "derivative_op.h"

namespace pykernels {

/* Adds the backward op and the gradient that `.Backward("x, dy -> dx")` of a forward op stands for. */
class TypedBackward : DerivativeOp {
 public:
  TypedBackward(Registry* registry, OpRecord* forward)
      : DerivativeOp("Backward", *forward, forward->backward.front()) {
    type_ = NameBefore("_backward");
    prefix_ = IsOfBackward() ? 'g' : 'd';
    OpRecord& op = registry->AddOp(type_, line_.at);
    for (const std::string& name : wanted_) { AddInput(&op, name); }
    for (const std::string& name : computed_) { AddOutput(&op, name); }
    Complete(&op, *forward);
    // Further lines are those of the backward op.
    AddRest(forward->backward, &op.backward);
    AddRest(forward->tangent, &op.tangent);
    registry->AddGradient(of_.name, line_.at).typed = this;
  }
  TypedBackward(const TypedBackward&) = delete;

  /* Plans the backward pass of one use of the forward op. */
  void Send(::oneflow::user_op::UserOpWrapper* forward, GradientPlan* plan) const {
    OpUse use{Joined({forward->op_name(), "_grad"}), type_, line_.at, {}, {}, {}};
    for (const Bound& input : inputs_) {
      std::vector<std::string>* blobs = OpUse::Blobs(&use.inputs, input.name);
      const bool is_input = input.kind == 'I';
      const int32_t n = is_input ? forward->input_size(input.source) : forward->output_size(input.source);
      for (int32_t i = 0; i < n; ++i) {
        blobs->push_back(is_input            ? forward->input(input.source, i)
                         : input.kind == 'O' ? forward->output(input.source, i)
                                             : forward->output_grad(input.source, i));
      }
    }
    for (const Bound& output : outputs_) {
      std::vector<std::string>* blobs = OpUse::Blobs(&use.outputs, output.name);
      const int32_t n = forward->input_size(output.source);
      for (int32_t i = 0; i < n; ++i) { blobs->push_back(use.OutputBlob(output.name, i)); }
    }
    for (const BoundAttribute& attribute : forward->user_op_conf().use()->attributes) {
      use.Add(attribute.name, attribute.value);
    }
    plan->Add(use);
    for (const Bound& output : outputs_) {
      for (int32_t i = 0; i < forward->input_size(output.source); ++i) {
        if (!forward->NeedGenGradTensor4OpInput(output.source, i)) { continue; }
        forward->BindGradTensorWithOpInput(use.OutputBlob(output.name, i), output.source, i);
      }
    }
  }

 private:
  static void AddRest(const std::list<Line>& lines, std::list<Line>* to) {
    bool is_first = true;
    for (const Line& line : lines) {
      if (!is_first) { to->push_back(line); }
      is_first = false;
    }
  }

  void AddInput(OpRecord* op, const std::string& name) {
    const ArgumentDecl* output = FindNamed(of_.outputs, name);
    const ArgumentDecl* input = FindNamed(of_.inputs, name);
    const ArgumentDecl* gradient = FindBehind(prefix_, of_.outputs, name);
    const ArgumentDecl* source = input != nullptr ? input : output != nullptr ? output : gradient;
    if (source == nullptr) {
      throw Wrong(Joined({"'", name, "' is no input or output of op ", of_.name,
                          ", and not the gradient of an output; inputs: ", Names(of_.inputs), "; outputs: ",
                          Names(of_.outputs)}));
    }
    inputs_.push_back({name, source->name, input != nullptr ? 'I' : output != nullptr ? 'O' : 'D'});
    op->Add(&op->declaration.inputs, Renamed(*source, name));
  }

  void AddOutput(OpRecord* op, const std::string& name) {
    const ArgumentDecl* input = FindBehind(prefix_, of_.inputs, name);
    if (input == nullptr) {
      throw Wrong(Joined({"'", name, "' is not the gradient of an input of op ", of_.name, ", which has: ",
                          Names(of_.inputs)}));
    }
    ArgumentDecl output = Renamed(*input, name);
    output.like = input->name;
    outputs_.push_back({name, input->name, 'I'});
    op->Add(&op->declaration.outputs, output);
  }

  /* An argument of the backward op, and the forward argument that it is ('I', 'O') or whose gradient it is ('D'). */
  struct Bound {
    std::string name;
    std::string source;
    char kind;
  };

  std::string type_;
  char prefix_;
  std::list<Bound> inputs_, outputs_;
};

}  // namespace pykernels
