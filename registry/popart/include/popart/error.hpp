// The exceptions that PopART throws.
#pragma once

#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>

namespace popart {

// An error whose text may contain places {} for further arguments.
class error : public std::runtime_error {
 public:
  explicit error(const std::string& text) : std::runtime_error(text) {}
  template <typename... Arguments>
  error(const std::string& text, const Arguments&... arguments) : std::runtime_error(Format(text, arguments...)) {}

 private:
  static std::string Format(const std::string& text) { return text; }
  template <typename First, typename... Rest>
  static std::string Format(const std::string& text, const First& first, const Rest&... rest) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) return text;
    std::ostringstream value;
    value << first;
    return text.substr(0, open) + value.str() + Format(text.substr(close + 1), rest...);
  }
};

class internal_error : public error {
 public:
  using error::error;
};

class runtime_error : public error {
 public:
  using error::error;
};

}  // namespace popart
