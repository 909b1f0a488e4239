/* Error messages of definitions: the problem, and the file and line where it is. */
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pykernels {

/* A source location in a definition. As a default argument, `Where::Here()` is the location of the caller. */
struct Where {
  const char* file;
  int line;

  static constexpr Where Here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }

  std::string Text() const;
};

/* Puts the pieces of a message together. A chain of + takes longer to compile, for it leaves temporary strings. */
std::string Joined(std::initializer_list<std::string_view> pieces);

/* The exception that every failing check throws. It never leaves the shared object: the C boundary turns it into a
 * message. */
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  Failure(Where where, const std::string& text);
};

/* A failure caused by the definition itself, not by the use of the op. */
class Fault : public Failure {
 public:
  using Failure::Failure;
};

template<typename T, typename = void>
struct HasToString : std::false_type {};
template<typename T>
struct HasToString<T, std::void_t<decltype(std::declval<std::string&>() = std::declval<const T&>().ToString())>>
    : std::true_type {};

// <ostream> takes longer to compile than these headers. An operator<< of the type itself needs only the name.
template<typename T, typename = void>
struct IsPrintable : std::false_type {};
template<typename T>
struct IsPrintable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

/* Append what a std::ostream prints. */
void AppendInteger(std::string* to, int64_t value);
void AppendUnsigned(std::string* to, uint64_t value);
void AppendReal(std::string* to, long double value);
void AppendText(std::string* to, const char* text);
void AppendAddress(std::string* to, const void* address);

/* The buffer of a stream into a string. These are templates, since only who prints a type has included <ostream>. */
template<typename Buffer>
class StringBuffer : public Buffer {
 public:
  explicit StringBuffer(std::string* to) : to_(to) {}

 private:
  typename Buffer::int_type overflow(typename Buffer::int_type character) override {
    *to_ += static_cast<char>(character);
    return character;
  }

  std::string* to_;
};
template<typename Buffer, typename Stream, typename T>
void AppendPrinted(std::string* to, const T& value) {
  StringBuffer<Buffer> buffer(to);
  Stream out(&buffer);
  out.setf(Stream::boolalpha);
  out << value;
}

template<typename T>
void Append(std::string* to, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    *to += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    *to += value;
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendReal(to, value);
  } else if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T>) {
    AppendUnsigned(to, value);
  } else if constexpr (std::is_convertible_v<const T&, const char*>) {
    AppendText(to, value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    *to += std::string_view(value);
  } else if constexpr (HasToString<T>::value) {
    *to += value.ToString();
  } else if constexpr (IsPrintable<T>::value && !std::is_integral_v<T>) {
    AppendPrinted<std::streambuf, std::ostream>(to, value);
  } else if constexpr (std::is_convertible_v<const T&, int64_t>) {
    AppendInteger(to, value);
  } else if constexpr (std::is_convertible_v<const T&, const void*>) {
    AppendAddress(to, value);
  } else {
    *to += "?";
  }
}

template<typename T>
void Append(std::string* to, const std::vector<T>& values) {
  const char* separator = "[";
  for (const auto& value : values) {
    *to += separator;
    Append(to, value);
    separator = ", ";
  }
  *to += values.empty() ? "[]" : "]";
}

/* A message assembled with <<. */
class Message {
 public:
  /* `instead`: text appended with << replaces `subject` instead of following it. */
  Message(Where where, const char* subject, bool instead = false);

  /* A message that already contains its location. */
  explicit Message(const Failure& failure);

  /* The message of a failed comparison, with both values. */
  template<typename A, typename B>
  Message(Where where, const char* subject, const A& a, const B& b) : Message(where, subject) {
    subject_ += " (";
    Append(&subject_, a);
    subject_ += " vs ";
    Append(&subject_, b);
    subject_ += ")";
  }

  Message(const Message&);
  ~Message();

  // Otherwise, literals of each length would need a function of their own.
  Message& operator<<(const char* text);
  template<typename T>
  Message& operator<<(const T& value) {
    Append(&body_, value);
    return *this;
  }

  std::string Text() const;

 private:
  std::string where_;
  std::string subject_;
  std::string body_;
  bool instead_;
};

/* `Raise() & message << text << ...` throws; & binds more loosely than <<. */
struct Raise {
  [[noreturn]] void operator&(const Message& message) const;
};

/* Discards log output: a definition has no log. */
struct Discard {
  template<typename T>
  const Discard& operator<<(const T&) const {
    return *this;
  }
};

}  // namespace pykernels
