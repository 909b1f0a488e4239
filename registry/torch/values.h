// Converts element types and attributes between PyTorch and pykernels.
#pragma once

#include <pykernels/definition.h>

#include <string>

#include "headers.h"

namespace pykernels::torch_ops {

// Returns PK_INVALID_DTYPE for a type that definitions do not have.
int32_t FromScalarType(at::ScalarType type);
at::ScalarType ToScalarType(int32_t dtype);

// Returns the text of an attribute of type `type`, as Attributes::Parse reads it.
std::string ToText(const IValue& value, int32_t type);

// Returns the value of an attribute as a schema holds it.
IValue ToValue(const pk_attr& attribute);

// Returns whether two values of one attribute are equal.
bool SameValue(const IValue& a, const IValue& b);

}  // namespace pykernels::torch_ops
