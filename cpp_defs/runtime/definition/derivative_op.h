/* What the ops that `.Backward` and `.Tangent` add have in common. */
#pragma once

#include "registry.h"
#include "typed_op.h"

namespace pykernels {

/* An op that computes a derivative of another one, as a line such as "x, dy -> dx" says. */
class DerivativeOp {
 protected:
  DerivativeOp(const char* method, const OpRecord& of, const Line& line)
      : of_(of.declaration), method_(method), line_(line) {
    const size_t arrow = line.text.find("->");
    if (arrow == std::string::npos) { throw Wrong(Joined({"'", line.text, "' lacks '->', as in \"x, dy -> dx\""})); }
    wanted_ = Items(line.text.substr(0, arrow));
    computed_ = Items(line.text.substr(arrow + 2));
  }

  Failure Wrong(const std::string& problem) const { return Failure(line_.at, Joined({method_, ": ", problem})); }

  /* Whether the other op is itself a backward op. */
  bool IsOfBackward() const { return EndsIn(of_.name, "_backward"); }

  /* The name of this op: mish_backward for mish_forward, mish_backward_backward for mish_backward. */
  std::string NameBefore(const std::string& ending) const {
    static const std::string kForward = "_forward";
    if (IsOfBackward()) { return of_.name + ending; }
    if (!EndsIn(of_.name, kForward)) { throw Wrong(Joined({"the name of op ", of_.name, " must end in _forward"})); }
    return of_.name.substr(0, of_.name.size() - kForward.size()) + ending;
  }

  /* The argument of `arguments` that a name stands for after its first letter, such as that of "dx". */
  static const ArgumentDecl* FindBehind(char letter, const std::list<ArgumentDecl>& arguments,
                                        const std::string& name) {
    return name.empty() || name[0] != letter ? nullptr : FindNamed(arguments, name.substr(1));
  }

  ArgumentDecl Renamed(ArgumentDecl argument, const std::string& name) const {
    argument.name = name;
    argument.at = line_.at;
    argument.is_mutable = false;
    return argument;
  }

  /* Gives the op the attributes of the other one, and its ways to be split. */
  void Complete(OpRecord* op, const OpRecord& of) const {
    for (const AttributeDecl& attribute : of_.attributes) { op->Add(attribute); }
    for (const Line& line : of.split) {
      for (const ArgumentDecl& input : op->declaration.inputs) {
        if (!TensorType(input.type).Names(line.text)) { continue; }
        op->split.push_back(line);
        break;
      }
    }
  }

  const Declaration& of_;
  const char* const method_;
  const Line line_;
  /* The names before and after "->". */
  std::vector<std::string> wanted_, computed_;

 private:
  static bool EndsIn(const std::string& text, const std::string& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  }

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
};

}  // namespace pykernels
