/* The plan of a backward pass: its ops, and the blob that is the gradient of each forward input. */
#pragma once

#include "instance.h"

namespace pykernels {

class GradientPlan {
 public:
  explicit GradientPlan(const Instance& forward) : forward_(forward) {
    for (const BoundArgument& argument : forward.use().inputs) { AddBlobs(argument.blobs, 'I'); }
    for (const BoundArgument& argument : forward.use().outputs) {
      AddBlobs(argument.blobs, 'O');
      AddBlobs(argument.blobs, 'D');
    }
  }

  void Add(const OpUse& op) {
    for (const OpUse& other : ops_) {
      if (other.name == op.name) { throw Fault(op.where, Joined({"two ops of the gradient are named ", op.name})); }
    }
    ops_.push_back(op);
  }

  void Bind(const std::string& input, int32_t index, const std::string& blob, Where at) {
    for (const Binding& binding : bindings_) {
      if (binding.input == input && binding.index == index) {
        throw Fault(at, Joined({"the gradient of input '", input, "' is bound twice"}));
      }
    }
    bindings_.push_back({input, index, blob, at});
  }

  void Note(const std::string& text) {
    if (!Contains(notes_, text)) { notes_.push_back(text); }
  }

  /* Checks the plan and sends it to `sink`, each op after those whose outputs it uses. */
  void Send(const pk_plan_sink& sink) {
    for (OpUse& op : ops_) { Check(&op); }
    Order();
    for (const Binding& binding : bindings_) { Check(binding); }
    for (const OpUse& op : ops_) { SendOp(sink, op); }
    for (const Binding& binding : bindings_) {
      sink.bind(sink.user, binding.input.c_str(), binding.index, binding.blob.c_str());
    }
    for (const std::string& note : notes_) {
      if (sink.note != nullptr) { sink.note(sink.user, note.c_str()); }
    }
  }

 private:
  struct Binding {
    std::string input;
    int32_t index;
    std::string blob;
    Where at;
  };

  void AddBlobs(const std::vector<std::string>& blobs, char kind) {
    for (std::string blob : blobs) {
      blob[0] = kind;
      blobs_.push_back(blob);
    }
  }

  void Order() {
    std::list<OpUse> waiting;
    waiting.swap(ops_);
    while (!waiting.empty()) {
      auto ready = waiting.begin();
      while (ready != waiting.end() && FindMissing(*ready).blob != nullptr) { ++ready; }
      if (ready == waiting.end()) {
        const OpUse& op = waiting.front();
        const Missing missing = FindMissing(op);
        throw Fault(op.where, Joined({"input '", missing.input->name, "' of op ", op.type, " in the gradient is ",
                                      *missing.blob, ", which no op of the gradient computes before it"}));
      }
      for (const BoundArgument& output : ready->outputs) {
        for (const std::string& blob : output.blobs) { blobs_.push_back(blob); }
      }
      ops_.splice(ops_.end(), waiting, ready);
    }
  }

  /* An input of an op, and a blob bound to it that nothing computes so far; nullptr if all blobs are known. */
  struct Missing {
    const BoundArgument* input;
    const std::string* blob;
  };
  Missing FindMissing(const OpUse& op) const {
    for (const BoundArgument& input : op.inputs) {
      for (const std::string& blob : input.blobs) {
        if (!Contains(blobs_, blob)) { return {&input, &blob}; }
      }
    }
    return {nullptr, nullptr};
  }

  /* Completes an op of this file and checks it against its declaration. The framework checks ops of other files. */
  static void Check(OpUse* op) {
    if (op->type.empty()) { throw Fault(op->where, "an op of the gradient has no op type name"); }
    const Declaration* declaration = FindDeclaration(op->type);
    if (declaration == nullptr) { return; }
    CheckArguments("input", *op, op->inputs, declaration->inputs);
    CheckArguments("output", *op, op->outputs, declaration->outputs);
    for (BoundAttribute& attribute : op->attributes) { CheckAttribute(*op, &attribute, *declaration); }
    for (const AttributeDecl& declared : declaration->attributes) {
      if (!declared.has_default && FindNamed(op->attributes, declared.name) == nullptr) {
        throw Fault(op->where, Joined({"the gradient gives op ", op->type, " no attribute '", declared.name, "'"}));
      }
    }
  }

  static void CheckArguments(const std::string& kind, const OpUse& op, const std::list<BoundArgument>& bound,
                             const std::list<ArgumentDecl>& declared) {
    for (const BoundArgument& argument : bound) {
      if (FindNamed(declared, argument.name) == nullptr) {
        throw Fault(op.where, Joined({"the gradient binds ", kind, " '", argument.name, "' of op ", op.type,
                                      ", which has no such ", kind, "; it has: ", Names(declared)}));
      }
    }
    for (const ArgumentDecl& argument : declared) {
      const BoundArgument* found = FindNamed(bound, argument.name);
      const int32_t count = found == nullptr ? 0 : static_cast<int32_t>(found->blobs.size());
      if (argument.Takes(count)) { continue; }
      throw Fault(op.where, Joined({"the gradient binds ", std::to_string(count), " tensors to ", kind, " '",
                                    argument.name, "' of op ", op.type, ", which takes ", argument.Wanted()}));
    }
  }

  static void CheckAttribute(const OpUse& op, BoundAttribute* attribute, const Declaration& declaration) {
    const AttributeDecl* declared = FindNamed(declaration.attributes, attribute->name);
    if (declared == nullptr) {
      throw Fault(op.where, Joined({"the gradient sets attribute '", attribute->name, "' of op ", op.type,
                                    ", which has no such attribute; it has: ", Names(declaration.attributes)}));
    }
    const std::string given = ::oneflow::AttrTypeName(attribute->value.type);
    if (!ConvertAttrVal(&attribute->value, declared->initial.type)) {
      throw Fault(op.where, Joined({"the gradient sets attribute '", attribute->name, "' of op ", op.type,
                                    " to a value of type ", given, ", but its type is ",
                                    ::oneflow::AttrTypeName(declared->initial.type)}));
    }
  }

  void Check(const Binding& binding) const {
    if (!Contains(blobs_, binding.blob)) {
      throw Fault(binding.at, Joined({"the gradient of input '", binding.input, "' of op ", forward_.use().type,
                                      " is ", binding.blob, ", which no op of the gradient computes"}));
    }
  }

  static void SendOp(const pk_plan_sink& sink, const OpUse& op) {
    sink.op(sink.user, op.name.c_str(), op.type.c_str());
    for (const BoundArgument& input : op.inputs) {
      for (const std::string& blob : input.blobs) { sink.input(sink.user, input.name.c_str(), blob.c_str()); }
    }
    for (const BoundArgument& output : op.outputs) {
      sink.output(sink.user, output.name.c_str(), static_cast<int32_t>(output.blobs.size()));
    }
    for (BoundAttribute attribute : op.attributes) {
      const pk_attr view = attribute.value.View(attribute.name);
      sink.attribute(sink.user, &view);
    }
  }

  const Instance& forward_;
  std::list<OpUse> ops_;
  std::list<Binding> bindings_;
  std::vector<std::string> blobs_;
  std::vector<std::string> notes_;
};

}  // namespace pykernels
