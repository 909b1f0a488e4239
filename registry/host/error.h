// The one exception that registrars throw, and how an error text carries its code.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>

namespace pykernels {

// Kinds of errors that C++ throws, numbered like their codes in pykernels/base/errors.py.
enum Kind {
  kPykernelsError = 0,
  kLoadError = 100,
  kDefinitionError = 200,
  kKernelError = 300,
  kCallError = 400,
};

// The size of an error text that crosses one of the C ABIs.
constexpr size_t kErrorSize = 8192;

constexpr size_t kCodeSize = sizeof " [PK000]" - 1;

template <typename... Parts>
std::string Join(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// Returns the position of the code in a text, or npos.
inline size_t FindCode(const std::string& text) {
  size_t at = text.find(" [PK");
  while (at != std::string::npos) {
    const auto number = text.begin() + at + 4;
    const bool is_whole = at + kCodeSize <= text.size() && text[at + kCodeSize - 1] == ']';
    if (is_whole && std::all_of(number, number + 3, [](unsigned char each) { return std::isdigit(each); })) return at;
    at = text.find(" [PK", at + 1);
  }
  return at;
}

// Puts a code at the end of the first line, as pykernels/base/codes.py writes it: the code that the text already has,
// from where the error was first raised, or else that of `kind`.
inline std::string WithCode(Kind kind, std::string text) {
  std::string code;
  for (size_t at = FindCode(text); at != std::string::npos; at = FindCode(text)) {
    if (code.empty()) code = text.substr(at, kCodeSize);
    text.erase(at, kCodeSize);
  }
  if (code.empty()) {
    const std::string number = std::to_string(kind);
    code = Join(" [PK", std::string(3 - number.size(), '0'), number, "]");
  }
  const size_t end = std::min(text.find('\n'), text.size());
  return text.insert(end > 0 && text[end - 1] == ':' ? end - 1 : end, code);
}

// An error whose text says what is wrong and where. A registrar turns it into its framework's own exception.
class Error : public std::runtime_error {
 public:
  Error(Kind kind, const std::string& text) : std::runtime_error(WithCode(kind, text)) {}
};

template <typename... Parts>
[[noreturn]] void Fail(Kind kind, const Parts&... parts) {
  throw Error(kind, Join(parts...));
}

// Returns the text of any exception, with a code.
inline std::string TextOf(const std::exception& problem) {
  const bool is_full = dynamic_cast<const std::bad_alloc*>(&problem) != nullptr;
  return WithCode(kPykernelsError, is_full ? "pykernels: out of memory" : problem.what());
}

// Writes a text that crosses one of the C ABIs, truncated to `size`; nothing if there is no room.
inline void WriteText(const std::string& text, char* to, size_t size) {
  if (!to || size == 0) return;
  std::strncpy(to, text.c_str(), size - 1);
  to[size - 1] = '\0';
}

// Runs `body`. Returns 0, or writes what it throws to `error` and returns 1.
template <typename Body>
int32_t Report(char* error, size_t size, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& problem) {
    WriteText(TextOf(problem), error, size);
    return 1;
  }
}

}  // namespace pykernels

// Marks the functions that a registrar exports.
#define PK_EXPORT extern "C" __attribute__((visibility("default")))
