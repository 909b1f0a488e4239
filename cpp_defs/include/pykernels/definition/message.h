/* Error texts of definitions: what is wrong, and in which line of which file. */
#ifndef PYKERNELS_DEFINITION_MESSAGE_H_
#define PYKERNELS_DEFINITION_MESSAGE_H_

#include <cstdint>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pykernels {

/* A line of a definition. As a default argument, `Where::Here()` is the line of the caller. */
struct Where {
  const char* file;
  int line;

  static constexpr Where Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }

  std::string Text() const {
    const char* slash = std::strrchr(file, '/');
    return std::string(slash ? slash + 1 : file) + ":" + std::to_string(line);
  }
};

/* What every failing check throws. It never leaves the shared object: the C boundary turns it into a text. */
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/* A failure that no use of the op could have avoided: the definition is wrong. */
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

/* A text put together with <<. */
class Message {
 public:
  /* `instead`: what is appended with << takes the place of `subject`, rather than following it. */
  Message(Where where, std::string subject, bool instead = false)
      : where_(where.Text()), subject_(std::move(subject)), instead_(instead) {}

  /* A text that already says where. */
  explicit Message(const Failure& failure) : subject_(failure.what()), instead_(false) {}

  /* The subject of a failed comparison, with both values. */
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
struct RaiseFault {
  [[noreturn]] void operator&(const Message& message) const { throw Fault(message.Text()); }
};

/* Takes what is logged and throws it away: a definition has no log. */
struct Discard {
  template<typename T>
  const Discard& operator<<(const T&) const {
    return *this;
  }
};

}  // namespace pykernels

#endif  // PYKERNELS_DEFINITION_MESSAGE_H_
