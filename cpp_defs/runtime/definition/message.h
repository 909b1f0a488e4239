/* Bodies of message.h and check.h in pykernels/definition/. */
#pragma once

#include <cstdio>

#include "pykernels/definition/check.h"

namespace pykernels {

std::string Where::Text() const {
  const char* slash = std::strrchr(file, '/');
  return Joined({slash ? slash + 1 : file, ":", std::to_string(line)});
}

std::string Joined(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (std::string_view piece : pieces) { text += piece; }
  return text;
}

Failure::Failure(Where where, const std::string& text) : std::runtime_error(Joined({where.Text(), ": ", text})) {}

void AppendInteger(std::string* to, int64_t value) { *to += std::to_string(value); }
void AppendUnsigned(std::string* to, uint64_t value) { *to += std::to_string(value); }
void AppendReal(std::string* to, long double value) {
  char decimal[32];
  std::snprintf(decimal, sizeof(decimal), "%Lg", value);
  *to += decimal;
}
void AppendText(std::string* to, const char* text) { *to += text != nullptr ? text : "nullptr"; }
void AppendAddress(std::string* to, const void* address) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%p", address);
  *to += address != nullptr ? digits : "0";
}

Message::Message(Where where, const char* subject, bool instead)
    : where_(where.Text()), subject_(subject), instead_(instead) {}
Message::Message(const Failure& failure) : subject_(failure.what()), instead_(false) {}
Message::Message(const Message&) = default;
Message::~Message() = default;

Message& Message::operator<<(const char* text) {
  AppendText(&body_, text);
  return *this;
}

std::string Message::Text() const {
  const size_t first = body_.find_first_not_of(' ');
  const std::string body = first == std::string::npos ? "" : body_.substr(first);
  const bool has_subject = !subject_.empty() && (body.empty() || !instead_);
  return Joined({where_, where_.empty() ? "" : ": ", has_subject ? subject_ : "",
                 has_subject && !body.empty() ? ": " : "", body});
}

void Raise::operator&(const Message& message) const { throw Failure(message.Text()); }

void RaiseNull(Where where, const char* text) {
  throw Failure(where, Joined({"check failed: ", text, " is not null"}));
}

}  // namespace pykernels
