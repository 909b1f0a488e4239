/* Bodies of message.h and check.h in pykernels/definition/. */
#pragma once

#include <cstdio>
#include <sstream>

#include "pykernels/definition/check.h"

namespace pykernels {

std::string Where::Text() const {
  const char* slash = std::strrchr(file, '/');
  return std::string(slash ? slash + 1 : file) + ":" + std::to_string(line);
}

Failure::Failure(Where where, const std::string& text) : std::runtime_error(where.Text() + ": " + text) {}

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
void AppendPrinted(std::string* to, const void* value, void (*print)(std::ostream& out, const void* value)) {
  std::ostringstream text;
  text << std::boolalpha;
  print(text, value);
  *to += text.str();
}

Message::Message(Where where, const char* subject, bool instead)
    : where_(where.Text()), subject_(subject), instead_(instead) {}
Message::Message(const Failure& failure) : subject_(failure.what()), instead_(false) {}
Message::Message(const Message&) = default;
Message::~Message() = default;

std::string Message::Text() const {
  const size_t first = body_.find_first_not_of(' ');
  const std::string body = first == std::string::npos ? "" : body_.substr(first);
  const std::string start = where_.empty() ? "" : where_ + ": ";
  if (body.empty()) { return start + subject_; }
  return start + (instead_ || subject_.empty() ? body : subject_ + ": " + body);
}

void Raise::operator&(const Message& message) const { throw Failure(message.Text()); }

void RaiseNull(Where where, const char* text) {
  throw Failure(where, std::string("check failed: ") + text + " is not null");
}

}  // namespace pykernels
