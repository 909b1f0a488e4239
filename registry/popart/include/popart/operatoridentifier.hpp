// The names of ops.
#pragma once

#include <iosfwd>
#include <tuple>

#include <popart/names.hpp>

namespace popart {

namespace Domain {
constexpr const char* ai_onnx = "ai.onnx";
constexpr const char* ai_onnx_ml = "ai.onnx.ml";
constexpr const char* ai_graphcore = "ai.graphcore";
}  // namespace Domain

// How many inputs an op takes; 0 and 0 leave it open.
struct NumInputs {
  NumInputs() : min(0), max(0) {}
  NumInputs(int count) : min(count), max(count) {}
  NumInputs(int min, int max) : min(min), max(max) {}

  int min;
  int max;
};

struct OperatorIdentifier {
  OperatorIdentifier(const OpDomain& domain, const OpType& type, OpVersion version, NumInputs numInputs = {},
                     int numOutputs = 0)
      : domain(domain.empty() ? Domain::ai_onnx : domain),
        type(type),
        version(version),
        numInputs(numInputs),
        numOutputs(numOutputs) {}

  OpDomain domain;
  OpType type;
  OpVersion version;
  NumInputs numInputs;
  int numOutputs;

  bool operator==(const OperatorIdentifier& other) const { return Key() == other.Key(); }
  bool operator!=(const OperatorIdentifier& other) const { return Key() != other.Key(); }
  bool operator<(const OperatorIdentifier& other) const { return Key() < other.Key(); }

 private:
  std::tuple<const OpDomain&, const OpType&, const OpVersion&> Key() const { return std::tie(domain, type, version); }
};

struct OperatorIdentifierLess {
  bool operator()(const OperatorIdentifier& a, const OperatorIdentifier& b) const { return a < b; }
};

std::ostream& operator<<(std::ostream& stream, const OperatorIdentifier& id);

}  // namespace popart
