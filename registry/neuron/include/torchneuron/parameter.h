// The parameter types of kernel and shape functions.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <type_traits>
#include <typeinfo>

namespace torchneuron {

// A class that is not trivially copyable is passed by value as a reference to a copy that the caller owns (Itanium C++
// ABI, 3.2.3), so one type of function pointer calls functions that take Tensor, Tensor& and const Tensor&.
static_assert(!std::is_trivially_copyable_v<at::Tensor> && !std::is_trivially_copyable_v<c10::Scalar>);

// How a parameter is written in a schema, passed to a kernel function and read from an argument. `name` is null for
// unsupported types.
template <typename T>
struct Parameter {
  static constexpr const char* name = nullptr;
};

template <>
struct Parameter<at::Tensor> {
  using Stored = at::Tensor;
  using Passed = const at::Tensor&;
  static constexpr const char* name = "Tensor";
  static constexpr const char* schema = "Tensor";
  static Stored from(const c10::IValue& value) { return value.toTensor(); }
};
template <>
struct Parameter<at::Tensor&> : Parameter<at::Tensor> {};
template <>
struct Parameter<const at::Tensor&> : Parameter<at::Tensor> {};

template <>
struct Parameter<c10::Scalar> {
  using Stored = c10::Scalar;
  using Passed = const c10::Scalar&;
  static constexpr const char* name = "Scalar";
  static constexpr const char* schema = "Scalar";
  static Stored from(const c10::IValue& value) { return value.toScalar(); }
};
template <>
struct Parameter<c10::Scalar&> : Parameter<c10::Scalar> {};
template <>
struct Parameter<const c10::Scalar&> : Parameter<c10::Scalar> {};

template <>
struct Parameter<double> {
  using Stored = double;
  using Passed = double;
  static constexpr const char* name = "double";
  static constexpr const char* schema = "float";
  static Stored from(const c10::IValue& value) { return value.toDouble(); }
};

template <>
struct Parameter<int64_t> {
  using Stored = int64_t;
  using Passed = int64_t;
  static constexpr const char* name = "int64_t";
  static constexpr const char* schema = "int";
  static Stored from(const c10::IValue& value) { return value.toInt(); }
};

// Returns the name of a type as the compiler writes it, extracted from the signature of this function.
template <typename T>
std::string type_name() {
  const std::string signature = __PRETTY_FUNCTION__;
  const size_t begin = signature.find("T = ") + 4;
  return signature.substr(begin, signature.find_first_of(";]", begin) - begin);
}

}  // namespace torchneuron
