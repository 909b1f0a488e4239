// ONNX's schemas, by which PopART checks models. Here the OpDefinition checks models, and schemas are discarded.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif

namespace ONNX_NAMESPACE {

struct AttributeProto {
  enum AttributeType { UNDEFINED = 0, FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS, TENSORS, GRAPHS };
};

struct InferenceContext {};

inline void propagateShapeAndTypeFromFirstInput(InferenceContext&) {}
inline void propagateElemTypeFromInputToOutput(InferenceContext&, std::size_t, std::size_t) {}
inline void propagateShapeFromInputToOutput(InferenceContext&, std::size_t, std::size_t) {}

class OpSchema {
 public:
  enum FormalParameterOption { Single, Optional, Variadic };
  using Names = std::vector<std::string>;

  OpSchema& SetName(const std::string&) { return *this; }
  OpSchema& SetDomain(const std::string&) { return *this; }
  OpSchema& SinceVersion(int) { return *this; }
  OpSchema& SetDoc(const std::string&) { return *this; }
  OpSchema& Input(int, const std::string&, const std::string&, const std::string&, FormalParameterOption = Single) {
    return *this;
  }
  OpSchema& Output(int, const std::string&, const std::string&, const std::string&, FormalParameterOption = Single) {
    return *this;
  }
  OpSchema& TypeConstraint(const std::string&, const Names&, const std::string&) { return *this; }
  OpSchema& Attr(const std::string&, const std::string&, AttributeProto::AttributeType, bool = true) { return *this; }
  template <typename T>
  OpSchema& Attr(const std::string&, const std::string&, AttributeProto::AttributeType, const T&) {
    return *this;
  }
  OpSchema& TypeAndShapeInferenceFunction(const std::function<void(InferenceContext&)>&) { return *this; }

  static Names all_numeric_types() { return {}; }
  static Names all_tensor_types() { return {}; }
};

class OpSchemaRegistry {
 public:
  class DomainToVersionRange {
   public:
    static DomainToVersionRange& Instance() {
      static DomainToVersionRange instance;
      return instance;
    }
    void AddDomainToVersion(const std::string&, int, int, int = -1) {}
  };
};

template <typename Schema>
OpSchema GetOpSchema();

inline void RegisterSchema(const OpSchema&) {}

}  // namespace ONNX_NAMESPACE

#define ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name) name##_##domain##_ver##version
#define ONNX_OPERATOR_SET_SCHEMA_EX(name, domain, domain_name, version, is_checked, ...)      \
  class ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name);                           \
  template <>                                                                                 \
  inline OpSchema GetOpSchema<ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name)>() { \
    return __VA_ARGS__;                                                                       \
  }
