/* Attributes: OneFlow's 14 types. */
#pragma once

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/shape.h"
#include "pykernels/definition.h"

namespace oneflow {

/* In the order of pk_attr_type. */
enum AttrType : int {
  kAtInt32 = PK_ATTR_INT32, kAtInt64, kAtBool, kAtFloat, kAtDouble, kAtString, kAtShape,
  kAtDataType, kAtListInt32, kAtListInt64, kAtListFloat, kAtListDataType, kAtListShape, kAtListString
};
using UserOpAttrType = AttrType;

namespace user_op {

/* The attribute type of a C++ type. Functions that are no templates take an attribute as its type and a pointer. */
template<typename T>
struct AttrTypeOf {
  static constexpr AttrType value = kAtInt32;
  static_assert(sizeof(T) == 0,
                "an attribute is int32_t, int64_t, bool, float, double, std::string, Shape, DataType, or a "
                "std::vector of int32_t, int64_t, float, DataType, Shape or std::string");
};
#define PK_ATTR_TYPE(number, T) \
  template<>                    \
  struct AttrTypeOf<T> : std::integral_constant<AttrType, number> {};
PK_ATTR_TYPE(kAtInt32, int32_t)
PK_ATTR_TYPE(kAtInt64, int64_t)
PK_ATTR_TYPE(kAtBool, bool)
PK_ATTR_TYPE(kAtFloat, float)
PK_ATTR_TYPE(kAtDouble, double)
PK_ATTR_TYPE(kAtString, std::string)
PK_ATTR_TYPE(kAtShape, Shape)
PK_ATTR_TYPE(kAtDataType, DataType)
PK_ATTR_TYPE(kAtListInt32, std::vector<int32_t>)
PK_ATTR_TYPE(kAtListInt64, std::vector<int64_t>)
PK_ATTR_TYPE(kAtListFloat, std::vector<float>)
PK_ATTR_TYPE(kAtListDataType, std::vector<DataType>)
PK_ATTR_TYPE(kAtListShape, std::vector<Shape>)
PK_ATTR_TYPE(kAtListString, std::vector<std::string>)
#undef PK_ATTR_TYPE

/* String literals are converted to std::string. */
template<typename T>
using AttrOf = std::conditional_t<std::is_convertible_v<const T&, const char*>, std::string, T>;

}  // namespace user_op
}  // namespace oneflow
