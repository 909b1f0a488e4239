// Creates ops from the nodes of a model; each op has a static OpCreator.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <popart/op.hpp>

namespace popart {

class OpDefinition {
 public:
  using DataTypes = std::vector<DataType>;

  struct Input {
    Input(std::string name, DataTypes types, bool constant = false)
        : name(std::move(name)), supportedTensors(std::move(types)), constant(constant) {}
    std::string name;
    DataTypes supportedTensors;
    bool constant;
  };
  struct Output {
    Output(std::string name, DataTypes types) : name(std::move(name)), supportedTensors(std::move(types)) {}
    std::string name;
    DataTypes supportedTensors;
  };
  struct Attribute {
    Attribute(std::string regex) : supportedValuesRegex(std::move(regex)) {}
    std::string supportedValuesRegex;
  };

  using Inputs = std::vector<Input>;
  using Outputs = std::vector<Output>;
  using Attributes = std::map<std::string, Attribute>;

  OpDefinition() {}
  OpDefinition(Inputs inputs, Outputs outputs, Attributes attributes)
      : inputs(std::move(inputs)), outputs(std::move(outputs)), attributes(std::move(attributes)) {}

  Inputs inputs;
  Outputs outputs;
  Attributes attributes;
};

using OpDefinitions = std::map<OperatorIdentifier, OpDefinition, OperatorIdentifierLess>;

// The arguments from which an op is created.
class OpCreatorInfo {
 public:
  OpCreatorInfo(const OperatorIdentifier& opid, const Op::Settings& settings, const Attributes& attributes)
      : opid(opid), settings(settings), attributes(attributes) {}

  const OperatorIdentifier& opid;
  const Op::Settings& settings;
  const Attributes& attributes;
};

class OpManager {
 public:
  using OpFactoryFunc = std::function<std::unique_ptr<Op>(const OpCreatorInfo&)>;

  // Registers an op of the calling library. Never throws: errors are reported when the library is used.
  static void registerOp(const OperatorIdentifier& opid, const OpDefinition& definition,
                         OpFactoryFunc function) noexcept;
};

template <typename OP>
class OpCreator {
 public:
  explicit OpCreator(const OpDefinitions& definitions, bool isPublic = true)
      : OpCreator(definitions, OpManager::OpFactoryFunc(&Create), isPublic) {}

  OpCreator(const OpDefinitions& definitions, OpManager::OpFactoryFunc function, bool /*isPublic*/ = true) {
    for (const auto& each : definitions) OpManager::registerOp(each.first, each.second, function);
  }

 private:
  static std::unique_ptr<Op> Create(const OpCreatorInfo& info) {
    return std::unique_ptr<Op>(new OP(info.opid, info.settings));
  }
};

}  // namespace popart
