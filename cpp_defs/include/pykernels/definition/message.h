/* Error messages of definitions: the problem, and the file and line where it is. */
#pragma once

#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pykernels {

/* A source location in a definition. As a default argument, `Where::Here()` is the location of the caller. */
struct Where {
  const char* file;
  int line;

  static constexpr Where Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

  std::string Text() const {
    const char* slash = std::strrchr(file, '/');
    return std::string(slash ? slash + 1 : file) + ":" + std::to_string(line);
  }
};

/* The exception that every failing check throws. It never leaves the shared object: the C boundary turns it into a
 * message. */
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Failure(Where where, const std::string& text) : std::runtime_error(where.Text() + ": " + text) {}
};

/* A failure caused by the definition itself, not by the use of the op. */
class Fault : public Failure {
 public:
  using Failure::Failure;
};

template<typename T, typename = void>
struct IsPrintable : std::false_type {};
template<typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

template<typename T>
void Print(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>) {
    out << static_cast<int>(value);
  } else if constexpr (IsPrintable<T>::value) {
    out << value;
  } else {
    out << "?";
  }
}

template<typename T>
void Print(std::ostream& out, const std::vector<T>& values) {
  const char* separator = "[";
  for (const auto& value : values) {
    out << separator;
    Print<T>(out, value);
    separator = ", ";
  }
  out << (values.empty() ? "[]" : "]");
}

/* A message assembled with <<. */
class Message {
 public:
  /* `instead`: text appended with << replaces `subject` instead of following it. */
  Message(Where where, std::string subject, bool instead = false)
      : where_(where.Text()), subject_(std::move(subject)), instead_(instead) {}

  /* A message that already contains its location. */
  explicit Message(const Failure& failure) : subject_(failure.what()), instead_(false) {}

  /* The message of a failed comparison, with both values. */
  template<typename A, typename B>
  Message(Where where, std::string subject, const A& a, const B& b) : Message(where, std::move(subject)) {
    std::ostringstream values;
    values << std::boolalpha << " (";
    Print(values, a);
    values << " vs ";
    Print(values, b);
    values << ")";
    subject_ += values.str();
  }

  template<typename T>
  Message& operator<<(const T& value) {
    std::ostringstream text;
    text << std::boolalpha;
    Print(text, value);
    body_ += text.str();
    return *this;
  }

  std::string Text() const {
    const size_t first = body_.find_first_not_of(' ');
    const std::string body = first == std::string::npos ? "" : body_.substr(first);
    const std::string start = where_.empty() ? "" : where_ + ": ";
    if (body.empty()) { return start + subject_; }
    return start + (instead_ || subject_.empty() ? body : subject_ + ": " + body);
  }

 private:
  std::string where_;
  std::string subject_;
  std::string body_;
  bool instead_;
};

/* `Raise() & message << text << ...` throws; & binds more loosely than <<. */
struct Raise {
  [[noreturn]] void operator&(const Message& message) const { throw Failure(message.Text()); }
};

/* Discards log output: a definition has no log. */
struct Discard {
  template<typename T>
  const Discard& operator<<(const T&) const {
    return *this;
  }
};

}  // namespace pykernels
