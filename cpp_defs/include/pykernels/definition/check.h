/* The check macros of OneFlow and glog. All of them throw on failure, whatever their names say, so that the error
 * reaches the C boundary from any function, whether or not it returns a Maybe. */
#pragma once

#include "pykernels/definition/message.h"

#define PK_HERE        \
  ::pykernels::Where { \
    __FILE__, __LINE__ \
  }
#define PK_RAISE(subject) ::pykernels::Raise() & ::pykernels::Message(PK_HERE, subject)
#define PK_CHECK(expr) (expr) ? static_cast<void>(0) : PK_RAISE("check failed: " #expr)
#define PK_COMPARE(op, a, b) \
  ((a)op(b))                 \
      ? static_cast<void>(0) \
      : ::pykernels::Raise() & ::pykernels::Message(PK_HERE, "check failed: " #a " " #op " " #b, (a), (b))

#define CHECK(expr) PK_CHECK(expr)
#define CHECK_EQ(a, b) PK_COMPARE(==, a, b)
#define CHECK_NE(a, b) PK_COMPARE(!=, a, b)
#define CHECK_LT(a, b) PK_COMPARE(<, a, b)
#define CHECK_LE(a, b) PK_COMPARE(<=, a, b)
#define CHECK_GT(a, b) PK_COMPARE(>, a, b)
#define CHECK_GE(a, b) PK_COMPARE(>=, a, b)
#define CHECK_STREQ(a, b) PK_COMPARE(==, std::string(a), std::string(b))
#define CHECK_STRNE(a, b) PK_COMPARE(!=, std::string(a), std::string(b))
#define CHECK_NOTNULL(pointer) ::pykernels::NotNull(PK_HERE, #pointer, pointer)

#define CHECK_OR_RETURN(expr) PK_CHECK(expr)
#define CHECK_EQ_OR_RETURN(a, b) PK_COMPARE(==, a, b)
#define CHECK_NE_OR_RETURN(a, b) PK_COMPARE(!=, a, b)
#define CHECK_LT_OR_RETURN(a, b) PK_COMPARE(<, a, b)
#define CHECK_LE_OR_RETURN(a, b) PK_COMPARE(<=, a, b)
#define CHECK_GT_OR_RETURN(a, b) PK_COMPARE(>, a, b)
#define CHECK_GE_OR_RETURN(a, b) PK_COMPARE(>=, a, b)
#define CHECK_NOTNULL_OR_RETURN(pointer) PK_CHECK((pointer) != nullptr)

#define UNIMPLEMENTED() PK_RAISE("not implemented")
#define UNIMPLEMENTED_THEN_RETURN() PK_RAISE("not implemented")
#define OF_UNIMPLEMENTED() PK_RAISE("not implemented")
#define TODO() PK_RAISE("not implemented yet")

#define PK_LOG_FATAL PK_RAISE("fatal")
#define PK_LOG_ERROR ::pykernels::Discard()
#define PK_LOG_WARNING ::pykernels::Discard()
#define PK_LOG_INFO ::pykernels::Discard()
#define LOG(severity) PK_LOG_##severity

namespace pykernels {

[[noreturn]] void RaiseNull(Where where, const char* text);

template<typename T>
T NotNull(Where where, const char* text, T&& pointer) {
  if (pointer == nullptr) { RaiseNull(where, text); }
  return std::forward<T>(pointer);
}

}  // namespace pykernels
