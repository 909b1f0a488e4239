/* oneflow::Error: the error that a function returns in a Maybe. */
#ifndef ONEFLOW_CORE_COMMON_ERROR_H_
#define ONEFLOW_CORE_COMMON_ERROR_H_

#include "pykernels/definition/check.h"

namespace oneflow {

class Error final {
 public:
  explicit Error(pykernels::Message message) : message_(std::move(message)) {}

#define PK_ERROR_KIND(name, subject)                                     \
  static Error name(pykernels::Where where = pykernels::Where::Here()) { \
    return Error(pykernels::Message(where, subject, /*instead=*/true));  \
  }
  PK_ERROR_KIND(BlobSplitAxisInferError, "the split axis cannot be inferred")
  PK_ERROR_KIND(BoxingNotSupportedError, "boxing is not supported")
  PK_ERROR_KIND(CheckFailed, "check failed")
  PK_ERROR_KIND(CheckFailedError, "check failed")
  PK_ERROR_KIND(CompileOptionWrong, "wrong compile option")
  PK_ERROR_KIND(CompileOptionWrongError, "wrong compile option")
  PK_ERROR_KIND(DeviceTagNotFoundError, "device tag not found")
  PK_ERROR_KIND(GradientFunctionNotFound, "gradient function not found")
  PK_ERROR_KIND(GradientFunctionNotFoundError, "gradient function not found")
  PK_ERROR_KIND(IndexError, "index error")
  PK_ERROR_KIND(InputDeviceNotMatchError, "the devices of the inputs differ")
  PK_ERROR_KIND(InvalidValueError, "invalid value")
  PK_ERROR_KIND(LogicalBlobNameInvalidError, "invalid blob name")
  PK_ERROR_KIND(LogicalBlobNameNotExistError, "unknown blob name")
  PK_ERROR_KIND(OutOfMemoryError, "out of memory")
  PK_ERROR_KIND(PlacementError, "placement error")
  PK_ERROR_KIND(RuntimeError, "runtime error")
  PK_ERROR_KIND(TimeoutError, "timeout")
  PK_ERROR_KIND(Todo, "not implemented yet")
  PK_ERROR_KIND(TodoError, "not implemented yet")
  PK_ERROR_KIND(TypeError, "type error")
  PK_ERROR_KIND(Unimplemented, "not implemented")
  PK_ERROR_KIND(UnimplementedError, "not implemented")
  PK_ERROR_KIND(ValueError, "value error")
  PK_ERROR_KIND(ValueNotFoundError, "value not found")
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

#endif  // ONEFLOW_CORE_COMMON_ERROR_H_
