/* The check macros of OneFlow and glog. Every one of them throws when it fails, whatever its name says: the error
 * reaches the C boundary from any function, whether or not that function returns a Maybe. */
#ifndef PYKERNELS_DEFINITION_CHECK_H_
#define PYKERNELS_DEFINITION_CHECK_H_

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
#define CHECK_ISNULL(pointer) PK_CHECK((pointer) == nullptr)
#define CHECK_NOTNULL(pointer) ::pykernels::NotNull(PK_HERE, #pointer, pointer)

#define CHECK_OR_RETURN(expr) PK_CHECK(expr)
#define CHECK_EQ_OR_RETURN(a, b) PK_COMPARE(==, a, b)
#define CHECK_NE_OR_RETURN(a, b) PK_COMPARE(!=, a, b)
#define CHECK_LT_OR_RETURN(a, b) PK_COMPARE(<, a, b)
#define CHECK_LE_OR_RETURN(a, b) PK_COMPARE(<=, a, b)
#define CHECK_GT_OR_RETURN(a, b) PK_COMPARE(>, a, b)
#define CHECK_GE_OR_RETURN(a, b) PK_COMPARE(>=, a, b)
#define CHECK_STREQ_OR_RETURN(a, b) CHECK_STREQ(a, b)
#define CHECK_STRNE_OR_RETURN(a, b) CHECK_STRNE(a, b)
#define CHECK_ISNULL_OR_RETURN(pointer) PK_CHECK((pointer) == nullptr)
#define CHECK_NOTNULL_OR_RETURN(pointer) PK_CHECK((pointer) != nullptr)
#define CHECK_OR_RETURN_ERROR(expr) PK_CHECK(expr)

#define CHECK_OR_THROW(expr) PK_CHECK(expr)
#define CHECK_EQ_OR_THROW(a, b) PK_COMPARE(==, a, b)
#define CHECK_NE_OR_THROW(a, b) PK_COMPARE(!=, a, b)
#define CHECK_LT_OR_THROW(a, b) PK_COMPARE(<, a, b)
#define CHECK_LE_OR_THROW(a, b) PK_COMPARE(<=, a, b)
#define CHECK_GT_OR_THROW(a, b) PK_COMPARE(>, a, b)
#define CHECK_GE_OR_THROW(a, b) PK_COMPARE(>=, a, b)
#define CHECK_NOTNULL_OR_THROW(pointer) PK_CHECK((pointer) != nullptr)

#define OF_CHECK(expr) PK_CHECK(expr)
#define OF_CHECK_EQ(a, b) PK_COMPARE(==, a, b)
#define OF_CHECK_NE(a, b) PK_COMPARE(!=, a, b)
#define OF_CHECK_LT(a, b) PK_COMPARE(<, a, b)
#define OF_CHECK_LE(a, b) PK_COMPARE(<=, a, b)
#define OF_CHECK_GT(a, b) PK_COMPARE(>, a, b)
#define OF_CHECK_GE(a, b) PK_COMPARE(>=, a, b)

#define UNIMPLEMENTED() PK_RAISE("not implemented")
#define UNIMPLEMENTED_THEN_RETURN() PK_RAISE("not implemented")
#define UNIMPLEMENTED_THEN_THROW() PK_RAISE("not implemented")
#define OF_UNIMPLEMENTED() PK_RAISE("not implemented")
#define TODO() PK_RAISE("not implemented yet")
#define TODO_THEN_RETURN() PK_RAISE("not implemented yet")
#define OF_TODO() PK_RAISE("not implemented yet")
#define OF_RUNTIME_ERROR() PK_RAISE("runtime error")
#define THROW(error) PK_RAISE(#error)

#define PK_LOG_FATAL PK_RAISE("fatal")
#define PK_LOG_ERROR ::pykernels::Discard()
#define PK_LOG_WARNING ::pykernels::Discard()
#define PK_LOG_INFO ::pykernels::Discard()
#define LOG(severity) PK_LOG_##severity

namespace pykernels {

template<typename T>
T NotNull(Where where, const char* text, T&& pointer) {
  if (pointer == nullptr) { Raise() & Message(where, std::string("check failed: ") + text + " is not null"); }
  return std::forward<T>(pointer);
}

}  // namespace pykernels

#endif  // PYKERNELS_DEFINITION_CHECK_H_
