/* A definition whose declarations are text, in place of code that a compiler would have to read.
 *
 * `pykernels/define/declarations.py` writes the text over `pk_declarations` in a copy of this library. Each line is a
 * call of a method of OpRegistry: its name and arguments, separated by tabs, as `Register` reads them.
 */
#include "oneflow/core/framework/framework.h"

// Volatile, since the text is not known here.
static volatile char pk_declarations[1 << 15] = "pykernels: the declarations follow\n";

namespace pykernels {
namespace {

/* Lives as long as the library, because locations point into it. */
const std::string& Text() {
  static const std::string* const text = [] {
    auto* copy = new std::string;
    for (const volatile char* at = pk_declarations; *at != '\0'; ++at) { *copy += *at; }
    return copy;
  }();
  return *text;
}

const char* File() {
  static std::string file;
  return (file.empty() ? file = Text().substr(0, Text().find('\n')) : file).c_str();
}

/* The arguments of one line, in order. */
class Reader {
 public:
  explicit Reader(const std::string& line) : fields_(line) {}

  std::string Next() {
    std::string field;
    std::getline(fields_, field, '\t');
    return field;
  }
  int32_t Number() { return static_cast<int32_t>(std::stol(Next())); }
  Where Place() { return {File(), Number()}; }

 private:
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

void Register() {
  std::istringstream lines(Text());
  std::string line;
  std::getline(lines, line);  // the file
  OpRegistry* op = nullptr;
  while (std::getline(lines, line)) {
    Reader reader(line);
    const std::string method = reader.Next();
    const Where at = reader.Place();
    const std::string first = reader.Next();
    if (method == "REGISTER_USER_OP") {
      op = &Registry::Get().AddOp(first, at);
    } else if (method == "Input" || method == "Output") {
      const std::string type = reader.Next();
      const int32_t count = reader.Number(), variadic = reader.Number(), optional = reader.Number();
      const ArgumentDecl argument{first, count, variadic != 0, optional != 0, false, type, at};
      method == "Input" ? op->AddInput(argument) : op->AddOutput(argument);
    } else if (method == "Attr") {
      const int32_t type = reader.Number(), has_default = reader.Number();
      op->AddAttribute({first, has_default != 0 ? Value(type, reader.Next()) : Value(type, ""), has_default != 0});
    } else if (method == "Require") {
      op->Require(first, at);
    } else if (method == "Split") {
      op->Split(first, reader.Next(), at);
    } else if (method == "Backward") {
      op->Backward(first, at);
    } else if (method == "Tangent") {
      op->Tangent(first, at);
    } else if (method == "NoGrad") {
      op->NoGrad();
    } else if (method == "SupportCpuOnly") {
      op->SupportCpuOnly();
    }
  }
}

[[maybe_unused]] const bool kIsRegistered = (Register(), true);

}  // namespace
}  // namespace pykernels
