/* oneflow::Error: the error that a function returns in a Maybe. */
#pragma once

#include "pykernels/definition/check.h"

namespace oneflow {

class Error final {
 public:
  explicit Error(const pykernels::Message& message) : message_(message) {}

#define PK_ERROR_KIND(name, subject)                                     \
  static Error name(pykernels::Where where = pykernels::Where::Here()) { \
    return Error(pykernels::Message(where, subject, /*instead=*/true));  \
  }
  PK_ERROR_KIND(CheckFailed, "check failed")
  PK_ERROR_KIND(CheckFailedError, "check failed")
  PK_ERROR_KIND(IndexError, "index error")
  PK_ERROR_KIND(InvalidValueError, "invalid value")
  PK_ERROR_KIND(RuntimeError, "runtime error")
  PK_ERROR_KIND(TypeError, "type error")
  PK_ERROR_KIND(Unimplemented, "not implemented")
  PK_ERROR_KIND(UnimplementedError, "not implemented")
  PK_ERROR_KIND(ValueError, "value error")
#undef PK_ERROR_KIND

  template<typename T>
  Error& operator<<(const T& value) {
    message_ << value;
    return *this;
  }

  std::string msg() const { return message_.Text(); }

 private:
  pykernels::Message message_;
};

}  // namespace oneflow
