/* Registers what a definition declares as text (declared.cpp). */
#pragma once

#include "registry.h"

namespace pykernels {
namespace {

/* The parts of a text between separators, in order. */
class Reader {
 public:
  Reader(const std::string& text, char separator) : text_(text), separator_(separator) {}

  bool HasMore() const { return at_ < text_.size(); }
  std::string Next() {
    const size_t begin = std::min(at_, text_.size()), end = std::min(text_.find(separator_, begin), text_.size());
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  int32_t Number() { return static_cast<int32_t>(std::strtol(Next().c_str(), nullptr, 10)); }

 private:
  const std::string& text_;
  const char separator_;
  size_t at_ = 0;
};

::oneflow::user_op::AttrVal Value(int32_t type, const std::string& text) {
  ::oneflow::user_op::AttrVal value(static_cast<::oneflow::AttrType>(type));
  switch (type) {
    case PK_ATTR_STRING: value.text = text; break;
    case PK_ATTR_FLOAT: value.real = ::oneflow::user_op::ToDouble(std::strtof(text.c_str(), nullptr)); break;
    case PK_ATTR_DOUBLE: value.real = std::strtod(text.c_str(), nullptr); break;
    default: value.integer = std::strtoll(text.c_str(), nullptr, 10);
  }
  return value;
}

}  // namespace

/* The first line is the name of the file. Each other line is a call of a method of OpRegistry: its name, its line and
 * its arguments, separated by tabs. */
bool Register(const volatile char* text) {
  std::string copy;
  for (; *text != '\0'; ++text) { copy += *text; }
  Reader lines(copy, '\n');
  static const std::string file = lines.Next();  // locations point into it
  OpRecord* op = nullptr;
  while (lines.HasMore()) {
    const std::string call = lines.Next();
    Reader reader(call, '\t');
    const std::string method = reader.Next();
    const Where at{file.c_str(), reader.Number()};
    const std::string first = reader.Next();
    if (method == "REGISTER_USER_OP") {
      op = &Registry::Get().AddOp(first, at);
    } else if (method == "Input" || method == "Output") {
      const std::string type = reader.Next();
      const int32_t count = reader.Number(), variadic = reader.Number(), optional = reader.Number();
      const ArgumentDecl argument{first, count, variadic != 0, optional != 0, false, type, at};
      op->Add(method == "Input" ? &op->declaration.inputs : &op->declaration.outputs, argument);
    } else if (method == "Attr") {
      const int32_t type = reader.Number(), has_default = reader.Number();
      op->Add({first, has_default != 0 ? Value(type, reader.Next()) : Value(type, ""), has_default != 0});
    }
    const Line line{first, at, method == "Split" ? reader.Next() : ""};
    if (method == "Require") {
      op->requirements.push_back(line);
    } else if (method == "Split") {
      op->split.push_back(line);
    } else if (method == "Backward") {
      op->backward.push_back(line);
    } else if (method == "Tangent") {
      op->tangent.push_back(line);
    } else if (method == "NoGrad") {
      op->flags |= PK_OP_NO_GRADIENT;
    } else if (method == "SupportCpuOnly") {
      op->flags |= PK_OP_CPU_ONLY;
    }
  }
  return true;
}

}  // namespace pykernels
