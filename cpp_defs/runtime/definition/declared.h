/* Registers what a definition declares as text (declared.cpp). */
#pragma once

#include <sstream>

#include "registry.h"

namespace pykernels {
namespace {

/* The arguments of one line, in order. */
class Reader {
 public:
  Reader(const char* file, const std::string& line) : file_(file), fields_(line) {}

  std::string Next() {
    std::string field;
    std::getline(fields_, field, '\t');
    return field;
  }
  int32_t Number() { return static_cast<int32_t>(std::stol(Next())); }
  Where Place() { return {file_, Number()}; }

 private:
  const char* file_;
  std::istringstream fields_;
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
  std::istringstream lines(copy);
  static std::string file;  // locations point into it
  std::getline(lines, file);
  std::string line;
  OpRecord* op = nullptr;
  while (std::getline(lines, line)) {
    Reader reader(file.c_str(), line);
    const std::string method = reader.Next();
    const Where at = reader.Place();
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
    } else if (method == "Require") {
      op->requirements.push_back({first, at});
    } else if (method == "Split") {
      op->split.push_back({first, at, reader.Next()});
    } else if (method == "Backward") {
      op->backward.push_back({first, at});
    } else if (method == "Tangent") {
      op->tangent.push_back({first, at});
    } else if (method == "NoGrad") {
      op->flags |= PK_OP_NO_GRADIENT;
    } else if (method == "SupportCpuOnly") {
      op->flags |= PK_OP_CPU_ONLY;
    }
  }
  return true;
}

}  // namespace pykernels
